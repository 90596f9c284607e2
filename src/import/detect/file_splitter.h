// FileSplitter: a file too large for one request → pieces that are files of the same format, of whole records, read
// and held one at a time. It finds borders only; what the records are worth, the importer of each piece says.
//
// Borders: between JSON values that begin on a line of their own; between the elements of the array that holds a large
// JSON document's records (Zipkin's array, Jaeger's `data`, OTLP's `resourceSpans`); between protobuf messages. A
// record larger than the limit is an error, since it can be sent to nobody.
//
// Thread safety: none.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "base/result.h"
#include "import/detect/importer.h"
#include "net/decoding_reader.h"

namespace wf::detect {

struct FilePiece {
  std::string content;
  // Where in the file it begins, for a piece that does not begin as the file does (ImportOptions).
  std::optional<FileContinuation> continues;
};

struct FileSplitterOptions {
  size_t piece_bytes = size_t{16} << 20;  // about; at least one record
  size_t whole_bytes = size_t{32} << 20;  // files up to this size, decompressed, are one piece
  // Of a record: what a server takes by default, and a little less.
  size_t most_bytes = size_t{60} << 20;
};

class FileSplitter {
 public:
  // `name` is for messages.
  FileSplitter(net::ChunkSource source, std::string name, const FileSplitterOptions& options = {});

  // The next piece; none at the end. A file without content is one empty piece.
  Result<std::optional<FilePiece>> Next();

 private:
  enum class Shape { kUnknown, kWhole, kLines, kArray, kProtobuf, kFrames };

  Status Fill(size_t bytes);
  Status FindShape();
  Result<std::optional<FilePiece>> NextLines();
  Result<std::optional<FilePiece>> NextElements();
  Status EndArray();
  // Cuts the first `bytes` off what is read and not handed on.
  std::string Cut(size_t bytes);
  FileContinuation Here() const;
  Error TooLarge() const;

  net::DecodingReader reader_;
  std::string name_;
  FileSplitterOptions options_;
  std::string text_;  // read, not handed on
  bool ended_ = false, done_ = false;
  Shape shape_ = Shape::kUnknown;
  ImportFormat format_ = ImportFormat::kOtlpJson;
  size_t byte_ = 0, line_ = 0;   // before text_
  std::string prefix_, suffix_;  // of a piece of an array
};

}  // namespace wf::detect
