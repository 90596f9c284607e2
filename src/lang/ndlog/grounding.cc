#include "lang/ndlog/grounding.h"

#include <algorithm>
#include <unordered_map>

namespace wf::ndlog {

bool Grounding::IsGrounded(Row* target) {
  ++search_;
  // Premise → heads' supports.
  std::unordered_map<Row*, std::vector<std::pair<Row*, size_t>>> waiting;
  std::vector<std::pair<Row*, size_t>> supports;  // head, premises not yet proved
  std::vector<Row*> unseen = {target}, proved;
  target->mark = search_;
  const auto prove = [&](Row* row) {
    if (row->proved == search_) return;
    row->proved = search_;
    proved.push_back(row);
  };
  while (!unseen.empty()) {
    Row* row = unseen.back();
    unseen.pop_back();
    if (row->base || row->sticky) {
      prove(row);
      continue;
    }
    for (const Support* support : row->supports) {
      if (support->dying) continue;
      const bool possible = std::all_of(support->premises.begin(), support->premises.end(),
                                        [](const Row* premise) { return premise->alive; });
      if (!possible) continue;
      const size_t number = supports.size();
      supports.emplace_back(row, support->premises.size());
      for (Row* premise : support->premises) {
        waiting[premise].emplace_back(row, number);
        if (premise->mark == search_) continue;
        premise->mark = search_;
        unseen.push_back(premise);
      }
    }
  }
  while (!proved.empty() && target->proved != search_) {
    Row* row = proved.back();
    proved.pop_back();
    const auto found = waiting.find(row);
    if (found == waiting.end()) continue;
    for (const auto& [head, support] : found->second)
      if (--supports[support].second == 0) prove(head);
  }
  return target->proved == search_;
}

}  // namespace wf::ndlog
