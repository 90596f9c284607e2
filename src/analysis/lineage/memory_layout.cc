#include "analysis/lineage/memory_layout.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <sstream>

namespace wf::lineage {
namespace {

// Looking for exchanges costs threads² × the rows they touch; it ends when none helps, or here.
constexpr int kMostRounds = 20;
constexpr uint64_t kMostWork = uint64_t{400} << 20;

double PageCost(const PageRow& row, const std::vector<uint32_t>& threads, uint32_t node,
                const Distances& distances) {
  double cost = 0;
  for (const PageUse& use : row.uses) cost += use.reading * distances.At(threads[use.thread], node);
  return cost;
}

uint32_t BestNode(const PageRow& row, const std::vector<uint32_t>& threads,
                  const Distances& distances, double* cost = nullptr) {
  uint32_t best = 0;
  double least = INFINITY;
  for (uint32_t node = 0; node < distances.nodes; ++node) {
    const double own = PageCost(row, threads, node, distances);
    if (own < least) {
      least = own;
      best = node;
    }
  }
  if (cost != nullptr) *cost = least * static_cast<double>(row.count);
  return best;
}

// Threads on nodes, so that pages on their best nodes cost little.
class ThreadPlacer {
 public:
  ThreadPlacer(const std::vector<PageRow>& matrix, size_t threads, const Distances& distances)
      : matrix_(matrix), distances_(distances), rows_of_(threads), costs_(matrix.size()) {
    for (uint32_t t = 0; t < threads; ++t) nodes_.push_back(t % distances.nodes);
    for (uint32_t r = 0; r < matrix.size(); ++r) {
      for (const PageUse& use : matrix[r].uses) rows_of_[use.thread].push_back(r);
      BestNode(matrix[r], nodes_, distances, &costs_[r]);
    }
  }

  std::vector<uint32_t> Run() {
    for (int round = 0; round < kMostRounds; ++round) {
      bool better = false;
      for (uint32_t a = 0; a < nodes_.size(); ++a) {
        for (uint32_t b = a + 1; b < nodes_.size(); ++b) {
          if (nodes_[a] != nodes_[b] && Exchange(a, b)) better = true;
          if (work_ > kMostWork) return nodes_;
        }
      }
      if (!better) break;
    }
    return nodes_;
  }

 private:
  bool Exchange(uint32_t a, uint32_t b) {
    work_ += 16 + rows_of_[a].size() + rows_of_[b].size();
    changed_.clear();
    std::set_union(rows_of_[a].begin(), rows_of_[a].end(), rows_of_[b].begin(), rows_of_[b].end(),
                   std::back_inserter(changed_));
    std::swap(nodes_[a], nodes_[b]);
    new_costs_.resize(changed_.size());
    double gain = 0;
    for (size_t i = 0; i < changed_.size(); ++i) {
      BestNode(matrix_[changed_[i]], nodes_, distances_, &new_costs_[i]);
      gain += costs_[changed_[i]] - new_costs_[i];
      work_ += matrix_[changed_[i]].uses.size() * distances_.nodes;
    }
    if (gain <= 1e-9) {
      std::swap(nodes_[a], nodes_[b]);
      return false;
    }
    for (size_t i = 0; i < changed_.size(); ++i) costs_[changed_[i]] = new_costs_[i];
    return true;
  }

  const std::vector<PageRow>& matrix_;
  const Distances& distances_;
  std::vector<std::vector<uint32_t>> rows_of_;
  std::vector<double> costs_, new_costs_;  // of each row, its pages on their best node
  std::vector<uint32_t> nodes_, changed_;
  uint64_t work_ = 0;
};

}  // namespace

Distances Distances::Uniform(uint32_t nodes) {
  Distances out{nodes, std::vector<double>(size_t{nodes} * nodes, 20)};
  for (uint32_t i = 0; i < nodes; ++i) out.between[i * nodes + i] = 10;
  return out;
}

Result<Distances> Distances::Parse(const std::string& text, uint32_t nodes,
                                   const std::string& name) {
  Distances out{nodes, {}};
  const char* const next =
      "a line for each node with its distance to each, as in cat "
      "/sys/devices/system/node/node*/distance";
  std::istringstream lines(text);
  std::string line;
  uint32_t number = 0;
  while (std::getline(lines, line)) {
    ++number;
    if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
    std::istringstream words(line);
    std::string word;
    uint32_t columns = 0;
    while (words >> word) {
      char* end = nullptr;
      const double value = std::strtod(word.c_str(), &end);
      if (*end != '\0' || !(value > 0) || !std::isfinite(value))
        return BadInput(fmt::format("{}:{}: {} is not a distance", name, number, word), next);
      out.between.push_back(value);
      ++columns;
    }
    if (columns != nodes)
      return BadInput(
          fmt::format("{}:{}: has {} distances for {} nodes", name, number, columns, nodes), next);
  }
  if (out.between.size() != size_t{nodes} * nodes)
    return BadInput(
        fmt::format("{}: has {} lines for {} nodes", name, out.between.size() / nodes, nodes),
        next);
  return out;
}

PlacementCost CostOf(const std::vector<PageRow>& matrix, const Placement& placement,
                     const Distances& distances) {
  double uses = 0, remote = 0, distance = 0;
  const auto add = [&](const PageRow& row, uint32_t node, double pages) {
    for (const PageUse& use : row.uses) {
      const uint32_t home = placement.threads[use.thread];
      const double weight = use.reading * pages;
      uses += weight;
      remote += home == node ? 0 : weight;
      distance += weight * distances.At(home, node);
    }
  };
  for (size_t r = 0; r < matrix.size(); ++r) {
    const PageRow& row = matrix[r];
    if (!placement.interleaved) {
      add(row, placement.rows[r], static_cast<double>(row.count));
      continue;
    }
    for (uint32_t node = 0; node < distances.nodes; ++node) {
      // Pages of the row that are on this node.
      const uint64_t skip =
          (node + distances.nodes - row.first % distances.nodes) % distances.nodes;
      if (skip >= row.count) continue;
      add(row, node, static_cast<double>((row.count - skip - 1) / distances.nodes + 1));
    }
  }
  if (uses == 0) return {};
  return {remote / uses, distance / uses};
}

MemoryLayout ProposeLayout(const std::vector<PageRow>& matrix, size_t threads,
                           const Distances& distances) {
  Placement usual;
  for (uint32_t t = 0; t < threads; ++t) usual.threads.push_back(t % distances.nodes);
  for (const PageRow& row : matrix) usual.rows.push_back(usual.threads[row.first_thread]);
  MemoryLayout out;
  out.first_touch = CostOf(matrix, usual, distances);
  usual.interleaved = true;
  out.interleaved = CostOf(matrix, usual, distances);
  out.proposed.threads = ThreadPlacer(matrix, threads, distances).Run();
  for (const PageRow& row : matrix)
    out.proposed.rows.push_back(BestNode(row, out.proposed.threads, distances));
  out.proposed_cost = CostOf(matrix, out.proposed, distances);
  return out;
}

}  // namespace wf::lineage
