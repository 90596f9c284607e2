#include "weaver/site_programs.h"

#include <algorithm>

namespace wf::weaver {
namespace {

// How the function's events have export `index`: at the first site that knows it.
WantedVariable Resolve(const LocatedFunction& function, const std::string& name, uint32_t index) {
  WantedVariable variable;
  variable.name = name;
  variable.export_index = index;
  for (const ProbeSite& site : function.sites) {
    if (!site.happens || index >= site.values.size()) continue;
    if (variable.read.form == ValueForm::kUnknown) variable.read = site.values[index];
  }
  if (variable.read.form != ValueForm::kAtEntry) return variable;
  variable.from_entry = true;
  for (const ProbeSite& site : function.sites) {
    if (site.kind == SiteKind::kEntry && index < site.values.size()) {
      variable.read = site.values[index];
      return variable;
    }
  }
  variable.read = {};
  return variable;
}

// Of throw, no site of the function itself happens; then it is the unwinder's values that say what is kept.
WantedVariable ResolveByUnwinder(const LocatedTracepoint& located, const LocatedFunction& function,
                                 const std::string& name, uint32_t index) {
  WantedVariable variable = Resolve(function, name, index);
  if (variable.read.form != ValueForm::kUnknown) return variable;
  for (const LocatedFunction& unwinder : located.unwinders) {
    for (const ProbeSite& site : unwinder.sites) {
      if (!site.happens || index >= site.values.size()) continue;
      LocatedFunction both = function;
      both.sites.push_back(site);
      return Resolve(both, name, index);
    }
  }
  return variable;
}

class Planner {
 public:
  Planner(const LocatedTracepoint& located, const std::vector<std::string>& wanted,
          uint32_t string_bytes, const ProcessFilter& filter)
      : located_(located), string_bytes_(string_bytes), filter_(filter) {
    for (uint32_t i = 0; i < located.exports.size(); ++i)
      if (std::find(wanted.begin(), wanted.end(), located.exports[i]) != wanted.end())
        wanted_.push_back(i);
    if (wanted_.size() > kMaxVariables) wanted_.resize(kMaxVariables);
  }

  std::vector<SiteGroup> Plan() {
    for (const LocatedFunction& function : located_.functions) {
      SiteGroup& group = GroupOf(function);
      for (const ProbeSite& site : function.sites)
        AddSite(group, function, site, filter_(function));
    }
    for (SiteGroup& group : groups_) {
      if (!group.calls) continue;
      for (const LocatedFunction& unwinder : located_.unwinders)
        for (const ProbeSite& site : unwinder.sites) AddSite(group, unwinder, site, std::nullopt);
      group.exceptions = !located_.unwinders.empty();
    }
    return std::move(groups_);
  }

 private:
  SiteGroup& GroupOf(const LocatedFunction& function) {
    std::vector<WantedVariable> variables;
    for (const uint32_t index : wanted_)
      variables.push_back(ResolveByUnwinder(located_, function, located_.exports[index], index));
    RecordLayout layout = LayOut(variables, string_bytes_);
    for (SiteGroup& group : groups_)
      if (group.layout == layout && group.calls == function.activations) return group;
    SiteGroup group;
    group.layout = std::move(layout);
    group.calls = function.activations;
    return groups_.emplace_back(std::move(group));
  }

  void AddSite(SiteGroup& group, const LocatedFunction& function, const ProbeSite& site,
               std::optional<uint32_t> filter) {
    std::vector<ValueRead> values(located_.exports.size());
    for (const uint32_t index : wanted_) {
      if (index >= site.values.size()) continue;
      values[index] = site.values[index];
      values[index].type.clear();
      values[index].note.clear();
    }
    SitePlace place{function.file, function.name, site.instruction, site.offset, site.cost};
    for (SiteProgram& program : group.programs) {
      if (program.kind == site.kind && program.happens == site.happens &&
          program.frame == site.frame && program.values == values && program.filter == filter) {
        program.places.push_back(std::move(place));
        return;
      }
    }
    SiteProgram program;
    program.kind = site.kind;
    program.happens = site.happens;
    program.frame = site.frame;
    program.values = std::move(values);
    program.filter = filter;
    program.places.push_back(std::move(place));
    group.programs.push_back(std::move(program));
  }

  const LocatedTracepoint& located_;
  const uint32_t string_bytes_;
  const ProcessFilter& filter_;
  std::vector<uint32_t> wanted_;
  std::vector<SiteGroup> groups_;
};

}  // namespace

std::vector<SiteGroup> PlanSites(const LocatedTracepoint& located,
                                 const std::vector<std::string>& wanted, uint32_t string_bytes,
                                 const ProcessFilter& filter) {
  return Planner(located, wanted, string_bytes, filter).Plan();
}

}  // namespace wf::weaver
