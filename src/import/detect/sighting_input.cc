#include "import/detect/sighting_input.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <unordered_map>
#include <utility>

#include "import/detect/sighting_file.h"
#include "import/mail/mail_reader.h"
#include "import/messages/duplicate_filter.h"
#include "import/messages/merged_sightings.h"
#include "import/messages/message_text_reader.h"
#include "import/messages/node_changes.h"
#include "import/messages/sighting_sorter.h"
#include "import/messages/sniffer.h"
#include "import/pcap/capture_sightings.h"
#include "import/pcap/node_names.h"

namespace wf::detect {
namespace {

// What all files of one run share.
struct Run {
  SightingOptions options;
  StringTable& nodes;
  messages::NodeChanges changes;
  pcap::NodeNames node_names;  // of captures
};

// A mailbox is in no order of time at all: the first hop of a mail may be days before the last of the one in front. The
// messages of a capture are told when their end was seen, up to 8 s behind their time.
Nanos WindowOf(const SightingFile& file, const SightingOptions& options) {
  switch (file.kind()) {
    case SightingFileKind::kMail:
      return INT64_MAX;
    case SightingFileKind::kCapture:
      return std::max(options.reorder, 10 * kSecond);
    case SightingFileKind::kText:
      break;
  }
  return options.reorder;
}

// An error about a temporary copy speaks of the file that the user knows.
Error Renamed(Error error, const std::string& from, const std::string& to) {
  const size_t at = error.message.find(from);
  if (from != to && at != std::string::npos) error.message.replace(at, from.size(), to);
  return error;
}

// Of what a capture counts, that which says that something was missed or guessed.
bool IsLoss(std::string_view name) {
  static constexpr std::string_view kLosses[] = {
      "truncated_files",   "corrupt_bytes",      "unread_links",
      "without_time",      "dropped_by_capture", "truncated_packets",
      "malformed_packets", "cut_packets",        "doubles",
      "mid_stream",        "forgotten",          "gaps",
      "gap_bytes",         "resynchronised",     "tls",
      "unknown",           "not_as_begun",       "hpack_mid_stream",
      "role_unknown",      "unmatched_returns",  "cancelled"};
  return std::find(std::begin(kLosses), std::end(kLosses), name) != std::end(kLosses);
}

void Note(uint64_t count, const char* what, const std::string& name,
          std::vector<std::string>* notes) {
  if (notes != nullptr && count > 0) notes->push_back(name + ": " + std::to_string(count) + what);
}

// One file: read, renamed, moved, sorted.
class FileSightings : public SightingSource {
 public:
  static Result<std::unique_ptr<FileSightings>> Open(const std::string& path, uint32_t input,
                                                     Run& run);

  Result<bool> Next(SightingLine& line) override;

  const SightingFile& file() const { return *file_; }
  bool is_text() const { return text_ != nullptr; }
  void AddTo(SightingCounts& counts, std::vector<std::string>* notes) const;

 private:
  FileSightings(std::unique_ptr<SightingFile> file, Run& run)
      : file_(std::move(file)),
        run_(run),
        sorter_(WindowOf(*file_, run.options), run.changes.least_shift(),
                run.options.texts == SightingTexts::kKeep
                    ? messages::SightingSorter::Texts::kKeep
                    : messages::SightingSorter::Texts::kDrop) {}

  std::unique_ptr<SightingFile> file_;
  Run& run_;
  std::unique_ptr<SightingSource> source_;
  messages::MessageTextReader* text_ = nullptr;  // source_, if it is one
  mail::MailReader* mail_ = nullptr;             // the same
  pcap::CaptureSightings* capture_ = nullptr;
  messages::SightingSorter sorter_;
  SightingLine read_;
  bool ended_ = false;
};

Result<std::unique_ptr<FileSightings>> FileSightings::Open(const std::string& path, uint32_t input,
                                                           Run& run) {
  WF_ASSIGN(auto file, SightingFile::Open(path));
  std::unique_ptr<FileSightings> out(new FileSightings(std::move(file), run));
  switch (out->file_->kind()) {
    case SightingFileKind::kText: {
      messages::MessageTextOptions options;
      options.on_malformed =
          run.options.lenient ? messages::OnMalformed::kSkip : messages::OnMalformed::kFail;
      options.texts = run.options.texts == SightingTexts::kKeep ? messages::LineTexts::kKeep
                                                                : messages::LineTexts::kDrop;
      options.input = input;
      auto reader = std::make_unique<messages::MessageTextReader>(
          out->file_->Bytes(), out->file_->name(), options, run.nodes);
      out->text_ = reader.get();
      out->source_ = std::move(reader);
      break;
    }
    case SightingFileKind::kCapture: {
      pcap::CaptureSightingOptions options;
      options.names = run.node_names;
      options.dns_names = run.options.dns_names ? pcap::CaptureSightingOptions::DnsNames::kUse
                                                : pcap::CaptureSightingOptions::DnsNames::kIgnore;
      options.input = input;
      WF_ASSIGN(const std::string capture, out->file_->Path());
      auto reader = pcap::CaptureSightings::Open(capture, options, run.nodes);
      if (!reader.ok()) return Renamed(reader.error(), capture, out->file_->name());
      out->capture_ = reader->get();
      out->source_ = std::move(*reader);
      break;
    }
    case SightingFileKind::kMail: {
      auto reader = std::make_unique<mail::MailReader>(out->file_->Bytes(), out->file_->name(),
                                                       input, run.nodes);
      out->mail_ = reader.get();
      out->source_ = std::move(reader);
      break;
    }
  }
  return out;
}

Result<bool> FileSightings::Next(SightingLine& line) {
  while (!sorter_.Ready() && !ended_) {
    WF_ASSIGN(const bool more, source_->Next(read_));
    if (!more) {
      ended_ = true;
      sorter_.Finish();
      break;
    }
    const Nanos raw = read_.sighting.time_ns;
    run_.changes.Apply(read_.sighting);
    sorter_.Push(read_, raw);
  }
  if (sorter_.empty()) return false;
  sorter_.Pop(line);
  return true;
}

void FileSightings::AddTo(SightingCounts& counts, std::vector<std::string>* notes) const {
  ++counts.files;
  counts.late += sorter_.late();
  if (text_ != nullptr) {
    ++counts.text_files;
    counts.lines += text_->lines();
    counts.malformed += text_->malformed();
    if (notes != nullptr && text_->malformed() > 0) {
      notes->push_back(std::to_string(text_->malformed()) +
                       " malformed lines skipped, the first: " + text_->first_fault());
    }
  }
  if (mail_ != nullptr) {
    ++counts.mailboxes;
    const mail::MailCounts& mail = mail_->counts();
    counts.malformed += mail.no_hosts + mail.generic_host + mail.no_time + mail.overlong;
    Note(mail.no_hosts, " Received headers without `from` or `by` left out", file_->name(), notes);
    Note(mail.generic_host, " Received headers of localhost or unknown hosts left out",
         file_->name(), notes);
    Note(mail.no_time, " Received headers whose date cannot be read left out", file_->name(),
         notes);
    Note(mail.overlong, " overlong lines cut", file_->name(), notes);
  }
  if (capture_ != nullptr) {
    ++counts.captures;
    for (const pcap::CaptureCount& count : capture_->Counts()) {
      if (notes == nullptr || count.value == 0 || !IsLoss(count.name)) continue;
      notes->push_back(file_->name() + ": " + std::to_string(count.value) + " " +
                       std::string(count.meaning));
    }
  }
  Note(sorter_.late(), " lines are further out of order than --reorder allows", file_->name(),
       notes);
}

// One INPUT: its files merged, and numbered where they have no line numbers of their own.
class InputSightings : public SightingSource {
 public:
  enum class Numbers { kOwn, kAsPrinted };

  InputSightings(std::vector<std::unique_ptr<FileSightings>> files, Numbers numbers, Nanos window)
      : files_(std::move(files)), numbers_(numbers), filter_(window), merge_(Sources(files_)) {}

  Result<bool> Next(SightingLine& line) override {
    size_t file = 0;
    do {
      WF_ASSIGN(const bool more, merge_.Next(line, file));
      if (!more) return false;
    } while (files_.size() > 1 &&
             filter_.IsDuplicate(line.sighting, static_cast<uint32_t>(file + 1)));
    if (numbers_ == Numbers::kAsPrinted) line.sighting.place.line = ++given_;
    return true;
  }

  const std::vector<std::unique_ptr<FileSightings>>& files() const { return files_; }
  uint64_t duplicates() const { return filter_.duplicates(); }

 private:
  static std::vector<SightingSource*> Sources(
      const std::vector<std::unique_ptr<FileSightings>>& files) {
    std::vector<SightingSource*> out;
    for (const auto& file : files) out.push_back(file.get());
    return out;
  }

  std::vector<std::unique_ptr<FileSightings>> files_;
  Numbers numbers_;
  messages::DuplicateFilter filter_;
  messages::MergedSightings merge_;
  uint64_t given_ = 0;
};

}  // namespace

struct SightingInput::Impl {
  Run run;
  std::vector<std::unique_ptr<InputSightings>> inputs;
  std::unique_ptr<messages::MergedSightings> merge;
  messages::DuplicateFilter filter;
  std::optional<messages::Sniffer> sniffer;
  uint64_t given = 0, dropped = 0;
  mutable SightingCounts counts;
};

SightingInput::SightingInput(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
SightingInput::~SightingInput() = default;

Result<std::unique_ptr<SightingInput>> SightingInput::Open(const std::vector<std::string>& inputs,
                                                           const SightingOptions& options,
                                                           StringTable& nodes) {
  if (inputs.empty())
    return BadInput("no input given", "name files or folders, or - for standard input");
  std::unordered_map<std::string, std::string> renames;
  if (!options.rename_file.empty()) {
    WF_ASSIGN(renames, messages::ReadRenames(options.rename_file));
  }
  pcap::NodeNames node_names;
  if (!options.nodes_file.empty()) {
    WF_ASSIGN(node_names, pcap::NodeNames::Load(options.nodes_file));
  }
  auto impl = std::unique_ptr<Impl>(
      new Impl{{options, nodes, messages::NodeChanges(std::move(renames), options.skew, nodes),
                std::move(node_names)},
               {},
               nullptr,
               messages::DuplicateFilter(options.reorder),
               {},
               0,
               0,
               {}});
  if (options.drop) impl->sniffer.emplace(options.drop->per_second, options.drop->queue);
  bool standard_input = false;
  std::vector<SightingSource*> sources;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i] == "-" && std::exchange(standard_input, true)) {
      return BadInput("standard input is given twice", "give - once");
    }
    WF_ASSIGN(const auto paths, ListSightingFiles(inputs[i]));
    std::vector<std::unique_ptr<FileSightings>> files;
    for (const std::string& path : paths) {
      WF_ASSIGN(auto file, FileSightings::Open(path, static_cast<uint32_t>(i + 1), impl->run));
      files.push_back(std::move(file));
    }
    const bool one_text = paths.size() == 1 && paths[0] == inputs[i] && files[0]->is_text();
    impl->inputs.push_back(std::make_unique<InputSightings>(
        std::move(files),
        one_text ? InputSightings::Numbers::kOwn : InputSightings::Numbers::kAsPrinted,
        options.reorder));
    sources.push_back(impl->inputs.back().get());
  }
  impl->merge = std::make_unique<messages::MergedSightings>(std::move(sources));
  return std::unique_ptr<SightingInput>(new SightingInput(std::move(impl)));
}

Result<bool> SightingInput::Next(SightingLine& line) {
  Impl& impl = *impl_;
  while (true) {
    size_t input = 0;
    WF_ASSIGN(const bool more, impl.merge->Next(line, input));
    if (!more) return false;
    if (impl.inputs.size() > 1 &&
        impl.filter.IsDuplicate(line.sighting, static_cast<uint32_t>(input + 1)))
      continue;
    if (impl.sniffer && !impl.sniffer->Takes(line.sighting.time_ns)) {
      ++impl.dropped;
      continue;
    }
    ++impl.given;
    return true;
  }
}

const SightingCounts& SightingInput::counts() const {
  SightingCounts counts;
  counts.sightings = impl_->given;
  counts.dropped = impl_->dropped;
  counts.duplicates = impl_->filter.duplicates();
  for (const auto& input : impl_->inputs) {
    counts.duplicates += input->duplicates();
    for (const auto& file : input->files()) file->AddTo(counts, nullptr);
  }
  return impl_->counts = counts;
}

std::vector<std::string> SightingInput::Notes() const {
  std::vector<std::string> notes;
  SightingCounts counts;
  for (const auto& input : impl_->inputs) {
    counts.duplicates += input->duplicates();
    for (const auto& file : input->files()) file->AddTo(counts, &notes);
  }
  counts.duplicates += impl_->filter.duplicates();
  if (counts.duplicates > 0)
    notes.push_back(std::to_string(counts.duplicates) + " sightings are duplicates, in two files");
  if (impl_->dropped > 0) notes.push_back(std::to_string(impl_->dropped) + " sightings dropped");
  for (const std::string& name : impl_->run.changes.Unmoved()) {
    notes.push_back("skew of " + name +
                    ": no line has its own clock (_SENT or _RCVD), so nothing changed");
  }
  return notes;
}

size_t SightingInput::inputs() const { return impl_->inputs.size(); }

uint64_t SightingInput::bytes_read() const {
  uint64_t bytes = 0;
  for (const auto& input : impl_->inputs) {
    for (const auto& file : input->files()) bytes += file->file().bytes_read();
  }
  return bytes;
}

uint64_t SightingInput::bytes_total() const {
  uint64_t bytes = 0;
  for (const auto& input : impl_->inputs) {
    for (const auto& file : input->files()) {
      if (file->file().bytes_total() == 0) return 0;
      bytes += file->file().bytes_total();
    }
  }
  return bytes;
}

Result<DropModel> ParseDropModel(const std::string& text) {
  const size_t colon = text.find(':');
  DropModel model;
  const char *begin = text.data(), *end = begin + text.size();
  if (colon != std::string::npos) {
    const auto rate = std::from_chars(begin, begin + colon, model.per_second);
    const auto queue = std::from_chars(begin + colon + 1, end, model.queue);
    if (rate.ec == std::errc() && rate.ptr == begin + colon && queue.ec == std::errc() &&
        queue.ptr == end && std::isfinite(model.per_second) && model.per_second > 0)
      return model;
  }
  return BadInput("--drop " + text + ": not RATE:QUEUE",
                  "messages per second and queue length, as in --drop 500:64");
}

}  // namespace wf::detect
