// Random programs, run in a random order that really can happen: locks exclude, joins wait for ends, barriers for all.
// Every number chooses the next step among those that are possible.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "recorder/reader/testing/scripted_run.h"

namespace wf::recorder {

struct RandomRun {
  ScriptedRun run;
  // Of each thread's sub-computations, the pages touched, and whether they were written.
  std::map<std::pair<uint32_t, uint32_t>, std::map<uint64_t, bool>> pages;
};

class RandomRunMaker {
 public:
  explicit RandomRunMaker(uint32_t depth = kSchedule | kData) : out_{ScriptedRun(depth), {}} {
    out_.run.Step(0, {"start"});
    states_.push_back({});
  }

  RandomRun Make(const std::vector<uint32_t>& choices) {
    for (const uint32_t choice : choices) {
      const std::vector<Move> moves = Possible();
      if (moves.empty()) break;
      Take(moves[choice % moves.size()], choice / static_cast<uint32_t>(moves.size()));
    }
    out_.run.Stop();
    return std::move(out_);
  }

 private:
  static constexpr uint32_t kMostThreads = 5, kBarrier = 2;
  static constexpr uint64_t kPages = 5;

  struct State {
    bool ended = false, waiting = false;
    bool at_barrier = false;
    uint64_t round = 0;
    bool joined = false;
    uint32_t holds = 0;                     // mutexes
    bool writing = false, reading = false;  // the rwlock
  };
  struct Move {
    uint32_t thread;
    std::vector<std::string> words;
  };

  std::vector<Move> Possible() const {
    std::vector<Move> moves;
    for (uint32_t t = 0; t < states_.size(); ++t) {
      const State& state = states_[t];
      if (state.ended) continue;
      if (state.waiting) {
        if (mutex_owner_[0] == kNobody) {
          moves.push_back({t, {"woken"}});
          moves.push_back({t, {"timedout"}});
        }
        continue;
      }
      if (state.at_barrier) {
        if (state.round < round_) moves.push_back({t, {"leave", "b"}});
        continue;
      }
      // Pages are touched as often as everything else together.
      for (int i = 0; i < 3; ++i) {
        moves.push_back({t, {"reads"}});
        moves.push_back({t, {"writes"}});
      }
      if (states_.size() < kMostThreads)
        moves.push_back({t, {"create", std::to_string(states_.size())}});
      for (uint32_t m = 0; m < 2; ++m) {
        const std::string name = "m" + std::to_string(m);
        if (mutex_owner_[m] == kNobody) moves.push_back({t, {"lock", name}});
        if (mutex_owner_[m] == t) moves.push_back({t, {"unlock", name}});
      }
      if (mutex_owner_[0] == t) moves.push_back({t, {"wait", "c", "m0"}});
      moves.push_back({t, {"signal", "c"}});
      moves.push_back({t, {"post", "s"}});
      if (posted_ > 0) moves.push_back({t, {"semwait", "s"}});
      if (!state.writing && !state.reading) {
        if (writers_ == 0 && readers_ == 0) moves.push_back({t, {"wrlock", "l"}});
        if (writers_ == 0) moves.push_back({t, {"rdlock", "l"}});
      } else {
        moves.push_back({t, {"rwunlock", "l"}});
      }
      moves.push_back({t, {"arrive", "b", std::to_string(kBarrier)}});
      moves.push_back({t, {"fork"}});
      for (uint32_t other = 1; other < states_.size(); ++other) {
        if (other != t && states_[other].ended && !states_[other].joined)
          moves.push_back({t, {"join", std::to_string(other)}});
      }
      if (t > 0 && state.holds == 0 && !state.writing && !state.reading)
        moves.push_back({t, {"end"}});
    }
    return moves;
  }

  void Take(const Move& move, uint32_t more) {
    State& state = states_[move.thread];
    std::vector<std::string> words = move.words;
    const std::string what = words[0];
    if (what == "reads" || what == "writes") {
      const uint64_t page = 100 + more % kPages;
      words.push_back(std::to_string(page));
      bool& written = out_.pages[{move.thread, out_.run.subs(move.thread) - 1}][page];
      written = written || what == "writes";
    }
    out_.run.Step(move.thread, words);
    if (what == "create") {
      const auto child = static_cast<uint32_t>(states_.size());
      states_.push_back({});
      out_.run.Step(child, {"start"});
      return;
    }
    if (what == "lock" || what == "unlock") {
      uint32_t& owner = mutex_owner_[words[1] == "m1" ? 1 : 0];
      owner = what == "lock" ? move.thread : kNobody;
      state.holds += what == "lock" ? 1 : -1;
    } else if (what == "wait") {
      mutex_owner_[0] = kNobody;
      state.waiting = true;
    } else if (what == "woken" || what == "timedout") {
      mutex_owner_[0] = move.thread;
      state.waiting = false;
    } else if (what == "post") {
      ++posted_;
    } else if (what == "semwait") {
      --posted_;
    } else if (what == "wrlock" || what == "rdlock") {
      (what == "wrlock" ? state.writing : state.reading) = true;
      ++(what == "wrlock" ? writers_ : readers_);
    } else if (what == "rwunlock") {
      --(state.writing ? writers_ : readers_);
      state.writing = state.reading = false;
    } else if (what == "arrive") {
      state.at_barrier = true;
      state.round = round_;
      if (++arrived_ == kBarrier) {
        arrived_ = 0;
        ++round_;
      }
    } else if (what == "leave") {
      state.at_barrier = false;
    } else if (what == "join") {
      states_[std::stoul(words[1])].joined = true;
    } else if (what == "end") {
      state.ended = true;
    }
  }

  static constexpr uint32_t kNobody = UINT32_MAX;
  RandomRun out_;
  std::vector<State> states_;
  uint32_t mutex_owner_[2] = {kNobody, kNobody};
  uint32_t posted_ = 0, writers_ = 0, readers_ = 0, arrived_ = 0;
  uint64_t round_ = 1;
};

// The order of a scripted run by its definition: program order, and every release before the acquires that see it;
// closed. Numbers sub-computations as a recording does.
class NaiveOrder {
 public:
  explicit NaiveOrder(const ScriptedRun& run) {
    for (uint32_t t = 0; t < run.threads(); ++t) {
      first_.push_back(count_);
      count_ += run.subs(t);
    }
    before_.assign(count_, std::vector<bool>(count_, false));
    for (uint32_t t = 0; t < run.threads(); ++t) {
      for (uint32_t i = 1; i < run.subs(t); ++i) before_[At(t, i - 1)][At(t, i)] = true;
    }
    const auto& all = run.happened();
    const auto acquires = [](Role role) {
      return role == Role::kAcquireAll || role == Role::kAcquireFromWriters ||
             role == Role::kAcquireRound;
    };
    for (size_t a = 0; a < all.size(); ++a) {
      if (!acquires(all[a].role)) continue;
      for (size_t r = 0; r < all.size(); ++r) {
        if (acquires(all[r].role) || all[r].object != all[a].object) continue;
        const bool sees =
            all[a].role == Role::kAcquireRound
                ? all[r].round == all[a].round
                : r < a && (all[a].role == Role::kAcquireAll || all[r].role == Role::kReleaseAll);
        const size_t from = At(all[r].thread, all[r].sub), to = At(all[a].thread, all[a].sub);
        if (sees && from != to) before_[from][to] = true;
      }
    }
    for (size_t k = 0; k < count_; ++k) {
      for (size_t i = 0; i < count_; ++i) {
        if (!before_[i][k]) continue;
        for (size_t j = 0; j < count_; ++j) {
          if (before_[k][j]) before_[i][j] = true;
        }
      }
    }
  }

  size_t count() const { return count_; }
  bool Before(size_t a, size_t b) const { return before_[a][b]; }
  bool Concurrent(size_t a, size_t b) const { return a != b && !Before(a, b) && !Before(b, a); }
  size_t At(uint32_t thread, uint32_t index) const { return first_[thread] + index; }

 private:
  size_t count_ = 0;
  std::vector<size_t> first_;
  std::vector<std::vector<bool>> before_;
};

}  // namespace wf::recorder
