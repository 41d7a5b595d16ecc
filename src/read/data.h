// The files of data/: from a folder when one is named, else those compiled in.
#pragma once
#include <string>
#include <vector>

#include "read/text_file.h"

namespace vramplan {

class Data {
 public:
  /// `folder` empty: compiled-in files. Throws UserError when the folder does not exist.
  explicit Data(std::string folder = {});
  /// A file by its path below data/. Throws UserError.
  std::string text(const std::string& path) const;
  std::string gpus() const { return text("gpus.json"); }
  /// Names of the model presets, sorted.
  std::vector<std::string> models() const;
  /// config.json of a preset; an unknown name is an error that suggests.
  std::string model(const std::string& name) const;

 private:
  std::string folder_;
};

/// The kinds of documents that have a JSON Schema, sorted; and it, which is always that of this program. Throws
/// UserError.
std::vector<std::string> documents_with_schema();
std::string schema_of(const std::string& document);

}  // namespace vramplan
