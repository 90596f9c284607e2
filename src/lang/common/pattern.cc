#include "lang/common/pattern.h"

#include <algorithm>

namespace wf::lang {
namespace {

constexpr int kMaxRepetitions = 100;
constexpr int kMaxDepth = 50;  // of parentheses: the compiler recurses once for each

void AddRange(std::bitset<256>& set, int from, int to) {
  for (int c = from; c <= to; ++c) set.set(static_cast<size_t>(c));
}

// \d, \w, \s and their opposites.
bool AddClass(char letter, std::bitset<256>& set) {
  std::bitset<256> members;
  switch (letter) {
    case 'd':
    case 'D':
      AddRange(members, '0', '9');
      break;
    case 'w':
    case 'W':
      AddRange(members, '0', '9');
      AddRange(members, 'a', 'z');
      AddRange(members, 'A', 'Z');
      members.set('_');
      break;
    case 's':
    case 'S':
      for (const char c : {' ', '\t', '\n', '\r', '\f', '\v'}) members.set(static_cast<size_t>(c));
      break;
    default:
      return false;
  }
  if (letter == 'D' || letter == 'W' || letter == 'S') members.flip();
  set |= members;
  return true;
}

}  // namespace

// Recursive descent; a fragment is a run of states whose last one falls through to whatever comes next, so that
// fragments are joined by appending and repeated by compiling their text again.
class PatternCompiler {
 public:
  explicit PatternCompiler(std::string_view text) : text_(text) {}

  Result<Pattern> Run() {
    if (text_.substr(0, 4) == "(?i)") {
      fold_ = true;
      at_ = 4;
    }
    Alternatives(0);
    if (error_.empty() && at_ < text_.size()) Fail("this ) has no matching (");
    Emit({Pattern::Step::kMatch});
    if (!error_.empty()) {
      return BadInput(
          "in the pattern, at its character " + std::to_string(error_at_ + 1) + ": " + error_,
          "a backslash takes a sign literally");
    }
    return std::move(out_);
  }

 private:
  using Step = Pattern::Step;

  bool AtEnd() const { return at_ >= text_.size() || !error_.empty(); }
  char Peek() const { return AtEnd() ? '\0' : text_[at_]; }
  void Fail(const char* message) {
    if (!error_.empty()) return;
    error_ = message;
    error_at_ = at_;
  }
  uint32_t Here() const { return static_cast<uint32_t>(out_.program_.size()); }
  uint32_t Emit(Pattern::State state) {
    if (out_.program_.size() >= Pattern::kMaxStates) {
      Fail("the pattern is too large");
      return 0;
    }
    state.next = state.next == 0 ? Here() + 1 : state.next;
    out_.program_.push_back(state);
    return Here() - 1;
  }
  void EmitSet(std::bitset<256> set) {
    if (fold_) {
      for (size_t c = 'a'; c <= 'z'; ++c) {
        const size_t upper = c - 'a' + 'A';
        if (set[c] || set[upper]) {
          set.set(c);
          set.set(upper);
        }
      }
    }
    Pattern::State state;
    state.step = Step::kByte;
    state.set = static_cast<uint32_t>(out_.sets_.size());
    out_.sets_.push_back(set);
    Emit(state);
  }

  void Alternatives(int depth) {
    if (depth > kMaxDepth) return Fail("parentheses are nested too deeply");
    std::vector<uint32_t> jumps;
    for (;;) {
      // Room for a split in front, filled in when another alternative follows.
      const uint32_t split = Emit({Step::kJump});
      Sequence(depth);
      if (Peek() != '|') break;
      ++at_;
      jumps.push_back(Emit({Step::kJump}));
      if (!error_.empty()) return;
      out_.program_[split].step = Step::kSplit;
      out_.program_[split].other = Here();
    }
    if (!error_.empty()) return;
    for (const uint32_t jump : jumps) out_.program_[jump].next = Here();
  }

  void Sequence(int depth) {
    while (!AtEnd() && Peek() != '|' && Peek() != ')') Repeated(depth);
  }

  // A bound of {m,n}; -1 when there is no number.
  int Bound() {
    if (Peek() < '0' || Peek() > '9') return -1;
    int value = 0;
    while (Peek() >= '0' && Peek() <= '9') {
      value = std::min(value * 10 + (Peek() - '0'), kMaxRepetitions + 1);
      ++at_;
    }
    return value;
  }

  void Repeated(int depth) {
    const size_t atom_at = at_;
    const uint32_t begin = Here();
    const size_t sets = out_.sets_.size();
    Atom(depth);
    const size_t behind_atom = at_;
    int least = 1, most = 1;  // most -1: without end
    const char c = Peek();
    if (c == '*' || c == '+' || c == '?') {
      ++at_;
      least = c == '+' ? 1 : 0;
      most = c == '?' ? 1 : -1;
    } else if (c == '{') {
      ++at_;
      least = most = Bound();
      if (least < 0) return Fail("{ begins a repetition: {2} or {2,5}");
      if (Peek() == ',') {
        ++at_;
        most = Bound();
      }
      if (Peek() != '}') return Fail("} is missing");
      ++at_;
      if (least > kMaxRepetitions || most > kMaxRepetitions)
        return Fail("more than 100 repetitions");
      if (most >= 0 && most < least) return Fail("{m,n} with n below m");
    } else {
      return;
    }
    if (Peek() == '*' || Peek() == '+' || Peek() == '?' || Peek() == '{')
      return Fail("a repetition of a repetition");
    if (!error_.empty()) return;

    // Compile the atom as often as it is needed.
    const size_t behind = at_;
    out_.program_.resize(begin);
    out_.sets_.resize(sets);
    const auto again = [&] {
      at_ = atom_at;
      Atom(depth);
      at_ = behind_atom;
    };
    for (int i = 0; i < least && error_.empty(); ++i) again();
    if (most < 0) {
      const uint32_t split = Emit({Step::kSplit});
      again();
      Pattern::State back{Step::kJump};
      // next 0 means "the following state"; a loop to state 0 cannot be, because state 0 is the outermost jump.
      back.next = split;
      Emit(back);
      if (!error_.empty()) return;
      out_.program_[split].other = Here();
    } else {
      std::vector<uint32_t> splits;
      for (int i = least; i < most && error_.empty(); ++i) {
        splits.push_back(Emit({Step::kSplit}));
        again();
      }
      if (!error_.empty()) return;
      for (const uint32_t split : splits) out_.program_[split].other = Here();
    }
    at_ = behind;
  }

  void Atom(int depth) {
    const char c = Peek();
    std::bitset<256> set;
    switch (c) {
      case '(':
        ++at_;
        if (text_.substr(at_, 2) == "?:") at_ += 2;
        if (Peek() == '?') return Fail("( ? … ) is not supported; (?: ) and a leading (?i) are");
        Alternatives(depth + 1);
        if (Peek() != ')') return Fail("a ) is missing");
        ++at_;
        return;
      case '[':
        return Brackets();
      case '*':
      case '+':
      case '?':
      case '{':
        return Fail("nothing to repeat");
      case '^':
        ++at_;
        Emit({Step::kBegin});
        return;
      case '$':
        ++at_;
        Emit({Step::kEnd});
        return;
      case '.':
        ++at_;
        set.set();
        set.reset('\n');
        return EmitSet(set);
      case '\\':
        ++at_;
        if (AtEnd()) return Fail("nothing after the backslash");
        if (!AddClass(Peek(), set)) set.set(Escaped(Peek()));
        ++at_;
        return EmitSet(set);
      default:
        ++at_;
        set.set(static_cast<unsigned char>(c));
        return EmitSet(set);
    }
  }

  static size_t Escaped(char c) {
    if (c == 'n') return '\n';
    if (c == 't') return '\t';
    return static_cast<unsigned char>(c);
  }

  void Brackets() {
    std::bitset<256> set;
    ++at_;
    const bool negated = Peek() == '^';
    if (negated) ++at_;
    for (bool first = true; AtEnd() || Peek() != ']' || first; first = false) {
      if (AtEnd()) return Fail("a ] is missing");
      size_t from = static_cast<unsigned char>(Peek());
      if (Peek() == '\\') {
        ++at_;
        if (AtEnd()) return Fail("nothing after the backslash");
        if (AddClass(Peek(), set)) {
          ++at_;
          continue;
        }
        from = Escaped(Peek());
      }
      ++at_;
      size_t to = from;
      if (Peek() == '-' && at_ + 1 < text_.size() && text_[at_ + 1] != ']') {
        ++at_;
        if (Peek() == '\\') {
          ++at_;
          if (AtEnd()) return Fail("nothing after the backslash");
          to = Escaped(Peek());
        } else {
          to = static_cast<unsigned char>(Peek());
        }
        ++at_;
      }
      if (to < from) return Fail("a range that goes backwards");
      AddRange(set, static_cast<int>(from), static_cast<int>(to));
    }
    ++at_;
    if (negated) set.flip();
    EmitSet(set);
  }

  std::string_view text_;
  size_t at_ = 0;
  bool fold_ = false;
  std::string error_;
  size_t error_at_ = 0;
  Pattern out_;
};

Result<Pattern> Pattern::Compile(std::string_view expression) {
  return PatternCompiler(expression).Run();
}

bool Pattern::Matches(std::string_view text) const {
  // Two sets of states, each a list plus marks by generation, so that clearing costs nothing.
  thread_local std::vector<uint32_t> now, then, stack;
  thread_local std::vector<uint64_t> mark;
  thread_local uint64_t generation = 0;
  if (mark.size() < program_.size()) mark.resize(program_.size(), 0);
  now.clear();

  bool matched = false;
  const auto add = [&](std::vector<uint32_t>& list, uint32_t state, size_t at) {
    stack.assign(1, state);
    while (!stack.empty()) {
      const uint32_t s = stack.back();
      stack.pop_back();
      if (mark[s] == generation) continue;
      mark[s] = generation;
      const State& step = program_[s];
      switch (step.step) {
        case Step::kMatch:
          matched = true;
          return;
        case Step::kByte:
          list.push_back(s);
          break;
        case Step::kSplit:
          stack.push_back(step.other);
          stack.push_back(step.next);
          break;
        case Step::kJump:
          stack.push_back(step.next);
          break;
        case Step::kBegin:
          if (at == 0) stack.push_back(step.next);
          break;
        case Step::kEnd:
          if (at == text.size()) stack.push_back(step.next);
          break;
      }
    }
  };

  for (size_t at = 0;; ++at) {
    // States already in `now` were marked in this generation; a match may also begin here.
    if (at == 0) ++generation;
    add(now, 0, at);
    if (matched) return true;
    if (at == text.size()) return false;
    ++generation;
    then.clear();
    for (const uint32_t s : now) {
      if (!sets_[program_[s].set][static_cast<unsigned char>(text[at])]) continue;
      add(then, program_[s].next, at + 1);
      if (matched) return true;
    }
    now.swap(then);
  }
}

}  // namespace wf::lang
