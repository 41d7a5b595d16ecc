// The files of data/ that were compiled in, by their path below it ("gpus.json", "models/gpt2/config.json").
#pragma once
#include <span>
#include <string_view>

namespace vramplan {

struct EmbeddedFile {
  std::string_view path, text;
};
std::span<const EmbeddedFile> embedded_files();

}  // namespace vramplan
