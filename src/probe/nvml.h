// NVIDIA's management library: what cards there are and how their memory is used, without a CUDA context. Opened by
// name; prototypes and structures of nvml.h (API version 13) as far as they are needed, with the forms of older
// drivers.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "vramplan/base/bytes.h"

namespace vramplan {

struct CardMemory {
  Bytes total, free, used;
  std::optional<Bytes> reserved;  ///< the driver's own; nothing: counted in `used` by this driver
  bool adds_up = true;            ///< used + free (+ reserved) is total
};

struct CardProcess {
  std::int64_t pid = 0;
  std::optional<Bytes> used;  ///< nothing: the driver does not tell (WSL, no permission)
};

struct NvmlCard {
  std::string name, uuid;
  std::optional<bool> mig, accounting;  ///< nothing: not supported
};

/// A card by its number, or one of the instances that it is divided into.
struct NvmlDevice {
  NvmlDevice(int number, int part = -1) : card(number), instance(part) {}  // NOLINT(google-explicit-constructor)
  int card, instance;  ///< instance: by MIG's index; -1: the card as a whole
};

class Nvml {
 public:
  /// Throws UserError with status 3 that names the layer that fails: no library, no driver, mismatch, permission.
  Nvml();
  ~Nvml();
  Nvml(const Nvml&) = delete;
  Nvml& operator=(const Nvml&) = delete;

  std::string driver() const;
  int cuda() const;  ///< 13000 for 13.0; 0: not told
  int count() const;
  /// Of a card that is divided (MIG); empty otherwise.
  std::vector<NvmlDevice> instances(int card) const;
  /// What programs run on: each card, or its instances where it is divided.
  std::vector<NvmlDevice> devices() const;
  NvmlCard card(NvmlDevice device) const;
  /// Nothing, with the reason in `why`, where the library does not tell.
  std::optional<CardMemory> memory(NvmlDevice device, std::string* why = nullptr) const;
  /// Compute processes, those of MPS with them. Nothing where the library does not tell. For several threads at once.
  std::optional<std::vector<CardProcess>> processes(NvmlDevice device, std::string* why = nullptr) const;
  /// The most a process held in its life, by the driver's accounting; also after its end. Nothing: accounting is off.
  std::optional<Bytes> accounted_peak(NvmlDevice device, std::int64_t pid) const;

 private:
  struct Calls;
  std::unique_ptr<Calls> calls_;
};

/// How many bytes a record of a process list has, from how far the library wrote into a buffer for `count` of them that
/// held a mark all over: 16, 24 or 32, which drivers changed under one name.
std::size_t record_size(const std::vector<unsigned char>& buffer, unsigned char mark, std::size_t count);

}  // namespace vramplan
