#include "import/messages/node_changes.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>

namespace wf::messages {

Result<std::unordered_map<std::string, std::string>> ReadRenames(const std::string& path) {
  std::ifstream file(path);
  if (!file) {
    const std::string why = path + ": " + std::strerror(errno);
    const char* const next = "--rename names a file of lines OLD NEW";
    return errno == ENOENT ? BadInput(why, next) : EnvironmentError(why, next);
  }
  std::unordered_map<std::string, std::string> renames;
  std::string line;
  for (size_t number = 1; std::getline(file, line); ++number) {
    std::istringstream words(line);
    std::string from, to, more;
    if (!(words >> from) || from[0] == '#') continue;
    if (!(words >> to) || words >> more) {
      return BadInput(path + ":" + std::to_string(number) + ": not `old new`",
                      "two names on each line, blanks between them");
    }
    if (!renames.emplace(from, to).second && renames[from] != to) {
      return BadInput(path + ":" + std::to_string(number) + ": " + from + " is renamed twice",
                      "one line for each old name");
    }
  }
  if (file.bad()) return EnvironmentError(path + ": cannot be read", "is it a file?");
  return renames;
}

NodeChanges::NodeChanges(std::unordered_map<std::string, std::string> renames,
                         std::map<std::string, Nanos> skew, StringTable& nodes)
    : anything_(!renames.empty() || !skew.empty()),
      renames_(std::move(renames)),
      skew_(std::move(skew)),
      nodes_(nodes) {
  for (const auto& [name, shift] : skew_) least_shift_ = std::min(least_shift_, shift);
}

NodeChanges::Node& NodeChanges::Of(NodeId id) {
  if (id >= known_.size()) known_.resize(std::max<size_t>(id + 1, 2 * known_.size()));
  Node& node = known_[id];
  if (!node.known) {
    std::string name(nodes_.At(id));
    const auto renamed = renames_.find(name);
    if (renamed != renames_.end()) name = renamed->second;
    const auto shift = skew_.find(name);
    node = {nodes_.Intern(name), shift == skew_.end() ? 0 : shift->second, true, false};
  }
  return node;
}

void NodeChanges::Apply(Sighting& s) {
  if (!anything_) return;
  const NodeId sender = s.sender, receiver = s.receiver;
  s.sender = Of(sender).now;
  s.receiver = Of(receiver).now;
  if (s.by == SightedBy::kCommon) return;
  Node& witness = Of(s.by == SightedBy::kSender ? sender : receiver);
  witness.moved = true;
  s.time_ns = SaturatingAdd(s.time_ns, witness.shift);
}

std::vector<std::string> NodeChanges::Unmoved() const {
  std::vector<std::string> out;
  for (const auto& [name, shift] : skew_) {
    const NodeId node = nodes_.Find(name);
    const bool moved = std::any_of(known_.begin(), known_.end(), [&](const Node& n) {
      return n.known && n.moved && n.now == node;
    });
    if (!moved) out.push_back(name);
  }
  return out;
}

}  // namespace wf::messages
