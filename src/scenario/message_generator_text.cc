#include "scenario/message_generator_text.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <map>
#include <queue>

#include "scenario/message_generator_truth.h"

namespace wf::scenario {
namespace {

constexpr size_t kPiece = size_t{1} << 20;

// A sighting that waits for its line, since another one may show an earlier time.
struct Waiting {
  Nanos shown;      // the time it shows
  uint64_t number;  // at equal times: in order of true time, the sender's before the receiver's
  TraceletRun* run;
  uint32_t index;
  SightedBy by;
  uint64_t id;
  bool operator<(const Waiting& other) const {  // std::priority_queue has the greatest on top
    return shown != other.shown ? shown > other.shown : number > other.number;
  }
};

class TextWriter {
 public:
  TextWriter(const GeneratorConfig& config, const GeneratorRequest& request,
             const TextSink& messages, const TextSink& truth)
      : config_(config),
        start_(request.start),
        messages_(messages),
        truth_sink_(truth),
        generator_(config, request.seed),
        truth_(generator_, truth_text_) {
    text_.reserve(kPiece + 4096);
    for (const Nanos skew : config.skews) least_skew_ = std::min(least_skew_, skew);
    PrepareWords();
  }

  Result<GeneratedTrace> Run() {
    GeneratedMessage message;
    while (generator_.Next(message)) {
      Take(message);
      if (text_.size() + truth_text_.size() >= kPiece) WF_TRY(Flush());
    }
    WriteWaiting(INT64_MAX);
    WF_TRY(Flush());
    return GeneratedTrace{generator_.counts(), lines_};
  }

 private:
  // " CALL_SENT a b " of every message, by whose clock it may be sighted.
  struct Words {
    std::string common, sender, receiver;
    const std::string& By(SightedBy by) const {
      return by == SightedBy::kCommon ? common : by == SightedBy::kSender ? sender : receiver;
    }
  };

  void PrepareWords() {
    for (const TraceletGroup& group : config_.groups) {
      for (const Tracelet& tracelet : group.tracelets) {
        std::vector<Words>& all = words_[&tracelet];
        for (const TraceletMessage& message : tracelet.messages) {
          const char* op = message.kind == MessageKind::kCall     ? " CALL"
                           : message.kind == MessageKind::kReturn ? " RET"
                                                                  : " MSG";
          const std::string ends =
              " " + config_.nodes[message.from] + " " + config_.nodes[message.to] + " ";
          all.push_back({op + ends, op + ("_SENT" + ends), op + ("_RCVD" + ends)});
        }
      }
    }
  }

  void Take(const GeneratedMessage& message) {
    const TraceletMessage& shape = message.shape();
    if (!config_.own_clocks) {
      if (message.lost()) {
        Lose(message, shape);
      } else {
        WriteLine(message.time, *message.run, message.index, SightedBy::kCommon, message.id);
      }
      return;
    }
    // Nothing that is yet to come shows an earlier time than this.
    WriteWaiting(message.time + least_skew_);
    if (message.lost()) {
      Lose(message, shape);
      return;
    }
    for (const SightedBy by : {SightedBy::kSender, SightedBy::kReceiver}) {
      const Nanos skew = config_.skews[by == SightedBy::kSender ? shape.from : shape.to];
      generator_.Hold(*message.run);
      waiting_.push({message.time + skew, ++number_, message.run, message.index, by, message.id});
    }
  }

  void Lose(const GeneratedMessage& message, const TraceletMessage& shape) {
    if (shape.kind == MessageKind::kCall) truth_.Lose(*message.run, message.index);
  }

  void WriteWaiting(Nanos before) {
    while (!waiting_.empty() && waiting_.top().shown < before) {
      const Waiting sighting = waiting_.top();
      waiting_.pop();
      WriteLine(sighting.shown, *sighting.run, sighting.index, sighting.by, sighting.id);
      generator_.Release(*sighting.run);
    }
  }

  void WriteLine(Nanos shown, TraceletRun& run, uint32_t index, SightedBy by, uint64_t id) {
    ++lines_;
    const TraceletMessage& shape = run.tracelet->messages[index];
    if (words_of_ != run.tracelet) {
      words_of_ = run.tracelet;
      words_now_ = &words_.find(run.tracelet)->second;
    }
    AppendTime(start_ + shown);
    text_ += (*words_now_)[index].By(by);
    AppendNumber(id);
    text_ += " path=";
    AppendNumber(run.first_path + shape.path);
    text_ += '\n';
    if (shape.kind == MessageKind::kCall && run.lines[index] == 0) truth_.Show(run, index, lines_);
  }

  void AppendNumber(uint64_t number) {
    char digits[20];
    text_.append(digits, std::to_chars(digits, digits + sizeof digits, number).ptr);
  }

  // Seconds with nine digits behind the point; the seconds' own digits seldom change.
  void AppendTime(Nanos time) {
    const Nanos second = time / kSecond;
    if (second != second_) {
      second_ = second;
      second_text_ = std::to_string(second) + ".";
    }
    char digits[9];
    auto fraction = static_cast<uint32_t>(time % kSecond);
    for (int i = 8; i >= 0; --i, fraction /= 10) digits[i] = static_cast<char>('0' + fraction % 10);
    text_ += second_text_;
    text_.append(digits, sizeof digits);
  }

  Status Flush() {
    WF_TRY(messages_(text_));
    text_.clear();
    if (truth_sink_) WF_TRY(truth_sink_(truth_text_));
    truth_text_.clear();
    return {};
  }

  const GeneratorConfig& config_;
  const Nanos start_;
  const TextSink& messages_;
  const TextSink& truth_sink_;
  MessageGenerator generator_;
  std::string text_, truth_text_;
  GeneratedTruth truth_;
  std::map<const Tracelet*, std::vector<Words>> words_;
  const Tracelet* words_of_ = nullptr;
  const std::vector<Words>* words_now_ = nullptr;
  std::priority_queue<Waiting> waiting_;
  Nanos least_skew_ = 0;
  uint64_t number_ = 0, lines_ = 0;
  Nanos second_ = -1;
  std::string second_text_;
};

}  // namespace

Result<GeneratedTrace> GenerateText(const GeneratorConfig& config, const GeneratorRequest& request,
                                    const TextSink& messages, const TextSink& truth) {
  Nanos least = 0;
  for (const Nanos skew : config.skews) least = std::min(least, skew);
  if (request.start + least < 0)
    return BadInput("skew_ms sets a clock before 1970", "begin the trace later, or skew it less");
  return TextWriter(config, request, messages, truth).Run();
}

}  // namespace wf::scenario
