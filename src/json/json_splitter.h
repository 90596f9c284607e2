// JsonSplitter: finds where one JSON value ends and the next begins, so that large files are parsed value by
// value. It reads only brackets and quotes; the parser decides whether a piece is JSON.
#pragma once

#include <cstddef>
#include <string_view>

namespace wf {

class JsonSplitter {
 public:
  // Values one after another: JSON lines, or pretty-printed texts concatenated. White space and byte order marks
  // between them are skipped.
  static JsonSplitter Sequence(std::string_view text) { return {text, 0, Mode::kSequence}; }
  // The elements of an array whose '[' stands at `open`.
  static JsonSplitter Array(std::string_view text, size_t open) {
    return {text, open + 1, Mode::kArrayFirst};
  }

  // The next value; false at the end. A value that does not end is the rest of the text (and no JSON).
  bool Next(std::string_view& value);
  size_t offset() const { return begin_; }  // of the value last returned
  size_t position() const { return at_; }   // behind it
  // An array that lacks a comma or its end: offset() is the place.
  bool malformed() const { return malformed_; }

 private:
  enum class Mode { kSequence, kArrayFirst, kArrayNext };
  JsonSplitter(std::string_view text, size_t at, Mode mode)
      : text_(text), at_(at), begin_(at), mode_(mode) {}
  void SkipSpace();

  std::string_view text_;
  size_t at_;
  size_t begin_;
  Mode mode_;
  bool malformed_ = false;
};

// Index behind the value that begins at `begin` (not white space), or text.size() when it does not end.
size_t JsonValueEnd(std::string_view text, size_t begin);

}  // namespace wf
