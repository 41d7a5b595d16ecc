// Objects made and dropped thousands of times a step: their memory is kept on a list of the thread and used again.
// Derive: `class Node : public Pooled<Node>`. The derived class must be final or of one size.
#pragma once
#include <cstddef>
#include <new>
#include <utility>

namespace vramplan {

template <class T>
class Pooled {
 public:
  static void* operator new(std::size_t n) {
    List& list = free_list();
    if (n != sizeof(T) || !list.head) return ::operator new(n < sizeof(Free) ? sizeof(Free) : n);
    Free* f = list.head;
    list.head = f->next;
    return f;
  }
  static void operator delete(void* p, std::size_t n) {
    if (n != sizeof(T)) return ::operator delete(p);
    List& list = free_list();
    list.head = new (p) Free{list.head};
  }

 private:
  struct Free {
    Free* next;
  };
  struct List {
    Free* head = nullptr;
    ~List() {
      while (head) ::operator delete(std::exchange(head, head->next));
    }
  };
  static List& free_list() {
    thread_local List list;
    return list;
  }
};

}  // namespace vramplan
