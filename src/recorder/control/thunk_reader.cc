#include "recorder/control/thunk_reader.h"

#include <cstring>

namespace wf::recorder {

std::string_view NameOf(BranchSource source) {
  switch (source) {
    case BranchSource::kQemu:
      return "qemu";
    case BranchSource::kCoverage:
      return "coverage";
    case BranchSource::kPt:
      return "pt";
  }
  return {};
}

bool ThunkReader::Start(BranchSource source) {
  if (source_) return *source_ == source;
  switch (source) {
    case BranchSource::kQemu:
      reader_.emplace<OperationReader>(question_.index, sink_);
      break;
    case BranchSource::kCoverage:
      reader_.emplace<CoverageReader>(question_.index, question_.opened_at, question_.code, sink_);
      break;
    case BranchSource::kPt:
      reader_.emplace<PtReader>(question_.index, question_.code, sink_);
      break;
    default:
      return false;
  }
  source_ = source;
  return true;
}

void ThunkReader::Read(std::string_view payload) {
  BranchesHead head{};
  if (payload.size() < sizeof head) {
    ++foreign_;
    return;
  }
  std::memcpy(&head, payload.data(), sizeof head);
  payload.remove_prefix(sizeof head);
  if (!Start(head.source)) {
    ++foreign_;
    return;
  }
  const bool missing = head.position != position_;
  position_ = head.position + payload.size();
  if (missing) rest_.clear();
  if (!rest_.empty()) {
    rest_ += payload;
    payload = rest_;
  }
  const size_t used = std::visit(
      [&](auto& reader) -> size_t {
        if constexpr (std::is_same_v<std::decay_t<decltype(reader)>, std::monostate>) {
          return 0;
        } else {
          if (missing) reader.Miss();
          return reader.Read(payload);
        }
      },
      reader_);
  rest_ = std::string(payload.substr(used));
}

void ThunkReader::Finish() {
  if (!rest_.empty()) ++foreign_;
  if (auto* pt = std::get_if<PtReader>(&reader_)) pt->Finish();
}

uint64_t ThunkReader::gaps() const {
  return foreign_ +
         std::visit(
             [](const auto& reader) -> uint64_t {
               if constexpr (std::is_same_v<std::decay_t<decltype(reader)>, std::monostate>)
                 return 0;
               else
                 return reader.gaps();
             },
             reader_);
}

}  // namespace wf::recorder
