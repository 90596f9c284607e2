// DecodeReport: the counts of one request or file. Nothing is dropped, repaired or clamped without moving a
// counter here; the server adds the counters to its metrics and answers partial success from them.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace wf::decode {

struct DecodeReport {
  int64_t accepted = 0;  // rows appended
  int64_t rejected = 0;  // spans or events rejected; the rest of the input was processed
  std::map<std::string, int64_t, std::less<>> reasons;  // of the rejections: "trace_id_zero", ...
  // "bad_utf8", "deep_value", "attribute_dropped", ...
  std::map<std::string, int64_t, std::less<>> repairs;

  std::string first_fault;  // content of the first rejected item, and the place of the fault in it

  // Keeps the first only: `trace id "12g4": character 3 is not a hexadecimal digit`.
  void NoteFault(std::string_view text) {
    if (first_fault.empty()) first_fault = text;
  }
  void Reject(std::string_view reason, int64_t count = 1) {
    rejected += count;
    Bump(reasons, reason, count);
  }
  void Repair(std::string_view name, int64_t count = 1) { Bump(repairs, name, count); }
  void Add(const DecodeReport& other) {
    accepted += other.accepted;
    rejected += other.rejected;
    NoteFault(other.first_fault);
    for (const auto& [name, count] : other.reasons) Bump(reasons, name, count);
    for (const auto& [name, count] : other.repairs) Bump(repairs, name, count);
  }
  // "3 rejected: trace_id_zero (2), span_id_length (1)"; empty when nothing was rejected.
  std::string RejectedText() const {
    if (rejected == 0) return {};
    std::string text = std::to_string(rejected) + " rejected:";
    for (const auto& [name, count] : reasons) {
      text.append(text.back() == ':' ? " " : ", ")
          .append(name)
          .append(" (")
          .append(std::to_string(count))
          .append(")");
    }
    if (!first_fault.empty()) text.append("; first: ").append(first_fault);
    return text;
  }

 private:
  static void Bump(std::map<std::string, int64_t, std::less<>>& counters, std::string_view name,
                   int64_t by) {
    const auto it = counters.find(name);
    if (it != counters.end()) {
      it->second += by;
    } else {
      counters.emplace(name, by);
    }
  }
};

}  // namespace wf::decode
