#include "tensor/dims.h"

#include <doctest/doctest.h>

#include "vramplan/base/bytes.h"

using namespace vramplan;

TEST_CASE("a reshape is a view exactly when PyTorch's is") {
  // [b, s, a, d] seen as [b, a, s, d] by a transpose, b = 2, s = 3, a = 4, d = 5.
  const Dims shape{2, 4, 3, 5}, strides{60, 5, 20, 1};
  CHECK_FALSE(view_strides(shape, strides, {8, 3, 5}));          // batch and heads do not join
  CHECK(view_strides({1, 4, 3, 5}, {60, 5, 20, 1}, {4, 3, 5}));  // with one sequence they do
  CHECK(*view_strides({2, 3, 4, 5}, {60, 20, 5, 1}, {6, 20}) == Dims{20, 1});
  CHECK(*view_strides({6}, {1}, {2, 3}) == Dims{3, 1});
  CHECK_FALSE(view_strides({3, 2}, {1, 3}, {6}));
  CHECK(*view_strides({3, 1, 2}, {2, 99, 1}, {6}) == Dims{1});
  CHECK(*view_strides({}, {}, {1, 1}) == Dims{1, 1});
}

TEST_CASE("elementwise results follow their operands' memory order") {
  const Dims shape{2, 4, 3, 5}, transposed{60, 5, 20, 1}, row{1, 1, 3, 5}, row_strides{15, 15, 5, 1};
  const Operand both[] = {{&shape, &transposed}, {&row, &row_strides}};
  CHECK(elementwise_strides(shape, both, 2) == transposed);
  const Dims plain = contiguous_strides(shape);
  const Operand same[] = {{&shape, &plain}, {&shape, &plain}};
  CHECK(elementwise_strides(shape, same, 2) == plain);
  const Dims column{4, 1}, column_strides{1, 1}, line{1, 3}, line_strides{3, 1}, out{4, 3};
  const Operand outer[] = {{&column, &column_strides}, {&line, &line_strides}};
  CHECK(elementwise_strides(out, outer, 2) == contiguous_strides(out));
}

TEST_CASE("a slice is not dense, a transpose is") {
  CHECK(is_dense({2, 4, 3, 5}, {60, 5, 20, 1}));
  CHECK_FALSE(is_dense({2, 3}, {6, 1}));
  CHECK(like_strides({2, 3}, {6, 1}) == Dims{3, 1});
  CHECK(like_strides({3, 2}, {1, 3}) == Dims{1, 3});
}

TEST_CASE("broadcasting and counting") {
  CHECK(broadcast({2, 1, 4}, {3, 1}) == Dims{2, 3, 4});
  CHECK_THROWS_AS(broadcast({2}, {3}), std::logic_error);
  CHECK(count({}) == 1);
  CHECK(count({0, 5}) == 0);
  CHECK_THROWS_AS(count({INT64_MAX, 2}), Overflow);
  CHECK(resolved({4, 6}, {-1, 3}) == Dims{8, 3});
  CHECK_THROWS_AS(resolved({4, 6}, {5, -1}), std::logic_error);
}
