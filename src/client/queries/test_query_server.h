// For tests: a server of queries on a free loopback port. It answers the control connection as the real one does, and
// keeps what is reported.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "advice/program.h"
#include "advice/results.h"
#include "client/queries/query_report.h"
#include "client/runtime/json_text.h"
#include "client/transport/test_receiver.h"

namespace wherefore::client {

struct QueryTerms {
  // A test on a busy machine must not take the server for lost; most end an interval by taking the query out.
  int interval_ms = 1'000;
  int max_tuples = 256;
  int max_bytes = 3000;
};

class TestQueryServer {
 public:
  TestQueryServer()
      : receiver_(std::make_unique<TestReceiver>([this](int number) { return Answer(number); })) {}
  ~TestQueryServer() {
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
      changed_.notify_all();
    }
    receiver_.reset();
  }

  std::string url() const { return receiver_->url(); }

  void SetQueries(const std::vector<wf::advice::Program>& programs, const QueryTerms& terms = {}) {
    std::string queries;
    for (const auto& program : programs) {
      queries += queries.empty() ? "" : ",";
      queries += "{\"id\":\"" + QueryIdText(program.query) + "\",\"program\":\"" +
                 ToBase64(wf::advice::Encode(program)) +
                 "\",\"interval_ms\":" + std::to_string(terms.interval_ms) +
                 ",\"max_tuples\":" + std::to_string(terms.max_tuples) +
                 ",\"max_bytes\":" + std::to_string(terms.max_bytes) + "}";
    }
    SetRaw(queries);
  }
  void SetRaw(const std::string& queries) {
    const std::lock_guard lock(mutex_);
    queries_ = queries;
    ++version_;
    changed_.notify_all();
  }
  // Whether a client has asked again, having installed the latest queries.
  bool TakenOver() const {
    const std::lock_guard lock(mutex_);
    return taken_over_ == version_;
  }
  // … and has said that it reported all that it had of others.
  bool Drained() const {
    const std::lock_guard lock(mutex_);
    return drained_ == version_;
  }
  // A client has reported that it disconnects.
  bool Left() const {
    const std::lock_guard lock(mutex_);
    return left_;
  }
  // Receives requests but does not answer until changed.
  void SetHanging(bool hanging) {
    const std::lock_guard lock(mutex_);
    hanging_ = hanging;
    changed_.notify_all();
  }
  // Closes every connection without an answer until changed.
  void SetSilent(bool silent) {
    const std::lock_guard lock(mutex_);
    silent_ = silent;
    changed_.notify_all();
  }

  std::vector<JsonNode> Reports() const {
    const std::lock_guard lock(mutex_);
    return reports_;
  }
  // All of one query, over all intervals.
  struct Total {
    explicit Total(const wf::advice::Program& program) : results(program) {}
    wf::advice::Results results;
    uint64_t hits = 0, tuples = 0, lost = 0, overflowed = 0, packed_max = 0, bytes_max = 0;
    double advice_ns = 0;
    int intervals = 0;
    bool sound = true;
  };
  Total TotalOf(const wf::advice::Program& program, int64_t interval_ms) const {
    Total total(program);
    for (const JsonNode& report : Reports()) {
      for (const auto& [unused, result] : report.Get("results").children) {
        if (result.Get("query").text != QueryIdText(program.query)) continue;
        const auto number = [&, &result = result](const char* name) {
          return static_cast<uint64_t>(std::strtoull(result.Get(name).text.c_str(), nullptr, 10));
        };
        std::string bytes;
        total.sound =
            total.sound && FromBase64(result.Get("partial").text, bytes) &&
            total.results.Merge(bytes) &&
            number("start_ns") % static_cast<uint64_t>(interval_ms * 1'000'000) == 0 &&
            number("end_ns") - number("start_ns") == static_cast<uint64_t>(interval_ms * 1'000'000);
        total.hits += number("hits");
        total.tuples += number("tuples");
        total.lost += number("lost");
        total.overflowed += number("overflowed");
        total.packed_max = std::max(total.packed_max, number("packed_tuples_max"));
        total.bytes_max = std::max(total.bytes_max, number("baggage_bytes_max"));
        total.advice_ns += result.Get("advice_ns").number;
        ++total.intervals;
      }
    }
    return total;
  }

 private:
  std::string Answer(int number) {
    const HttpMessage message = receiver_->received()[static_cast<size_t>(number)];
    const std::string& line = message.start_line;
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return !hanging_ || stopping_; });
    if (silent_) return {};
    const auto says = [](const std::string& body) {
      return TestReceiver::Status("200 OK", "", body);
    };
    if (line.rfind("POST /api/v1/control/report", 0) == 0) {
      if (auto report = ParseJson(message.body)) reports_.push_back(std::move(*report));
      return says(R"({"accepted":1,"refused":0})");
    }
    if (line.rfind("GET /api/v1/control", 0) != 0)
      return says(R"({"accepted":1,"rejected":0,"reasons":{}})");
    // A client that has it all waits; the parameter stands last, or before wait_ms.
    const auto has_all = [&] {
      const std::string own = "version=v" + std::to_string(version_);
      const size_t at = line.find(own);
      return at != std::string::npos &&
             (line[at + own.size()] == ' ' || line[at + own.size()] == '&');
    };
    if (line.find("leaving=1") != std::string::npos) left_ = true;
    if (has_all()) taken_over_ = version_;
    if (has_all() && line.find("&drained=1") != std::string::npos) drained_ = version_;
    // As the real one does: no longer than the client wants to wait.
    const size_t wait = line.find("wait_ms=");
    const long wait_ms = wait == std::string::npos ? 100 : std::atol(line.c_str() + wait + 8);
    changed_.wait_for(lock, std::chrono::milliseconds(std::min(wait_ms, 100L)),
                      [&] { return stopping_ || silent_ || hanging_ || !has_all(); });
    if (silent_ || hanging_) return {};
    return says("{\"version\":\"v" + std::to_string(version_) +
                "\",\"policies\":[],\"tracepoints\":[],\"queries\":[" + queries_ + "]}");
  }

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::string queries_;
  int version_ = 1, taken_over_ = 0, drained_ = 0;
  bool silent_ = false, hanging_ = false, left_ = false, stopping_ = false;
  std::vector<JsonNode> reports_;
  std::unique_ptr<TestReceiver> receiver_;  // last: it calls us
};

}  // namespace wherefore::client
