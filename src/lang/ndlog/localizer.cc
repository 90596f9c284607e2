// Problem: reachable(@X,Z) :- link(@X,Y), reachable(@Y,Z) joins tuples of two nodes, and a node sees its own only.
//
// Method (Loo et al., "Declarative networking", rewrites 1 and 2; here for any number of places): visit the places of
// the body one after another. What has been joined so far is sent on, as a tuple of a made predicate that holds the
// variables still needed, to a place whose name is known by then:
//
//     reachable_mid1(@Y,X) :- link(@X,Y).                               at X, sent to Y
//     reachable(@X,Z)      :- reachable_mid1(@Y,X), reachable(@Y,Z).    at Y, sent to X
//
// A rule with an event starts where the event is, if the others can be reached from there, so that only what the event
// touches travels. A link-restricted rule (all places are the two ends of one link) needs one such hop, over that link.
#include "lang/ndlog/localizer.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace wf::ndlog {
namespace {

struct Group {
  Expression location;
  std::string key;  // the variable's name, or the constant's text
  std::vector<size_t> atoms;
  bool event = false;
};

std::string KeyOf(const Expression& location) {
  return location.kind == Expression::Kind::kVariable ? location.name
                                                      : "@" + location.value.Shown();
}

// Variables that have values once `bound` ones have: assignments included.
Names Closure(Names bound, const std::vector<Term>& others) {
  for (bool changed = true; changed;) {
    changed = false;
    for (const Term& term : others) {
      const Readiness ready = ReadinessOf(term, bound);
      if (ready.what != Readiness::What::kBinds) continue;
      changed = bound.insert(ready.variable).second || changed;
    }
  }
  return bound;
}

class Localizer {
 public:
  Localizer(const FlatRule& rule, const std::function<bool(const std::string&)>& is_event)
      : rule_(rule) {
    for (size_t i = 0; i < rule.atoms.size(); ++i) {
      const Atom& atom = rule.atoms[i];
      const Expression& location = atom.args[static_cast<size_t>(atom.location)];
      const std::string key = KeyOf(location);
      auto found = std::find_if(groups_.begin(), groups_.end(),
                                [&](const Group& group) { return group.key == key; });
      if (found == groups_.end()) {
        groups_.push_back({location, key, {}, false});
        found = groups_.end() - 1;
      }
      found->atoms.push_back(i);
      found->event = found->event || is_event(atom.name);
    }
  }

  Localized Run() {
    CheckLinkRestricted();
    if (!out_.diagnostics.empty()) return std::move(out_);
    if (groups_.size() <= 1) {
      out_.rules.push_back(rule_);
      return std::move(out_);
    }
    std::vector<size_t> starts(groups_.size());
    for (size_t i = 0; i < starts.size(); ++i) starts[i] = i;
    std::stable_sort(starts.begin(), starts.end(),
                     [&](size_t a, size_t b) { return groups_[a].event > groups_[b].event; });
    for (const size_t start : starts) {
      const std::vector<size_t> order = OrderFrom(start);
      if (order.size() != groups_.size()) continue;
      Split(order);
      return std::move(out_);
    }
    out_.diagnostics.push_back(
        At(rule_.place,
           "no tuple of this body says where the others are: its places are not connected",
           "some atom must name the place of another, as link(@X,Y) names Y"));
    return std::move(out_);
  }

 private:
  // #link(@X,Y): everything else is at X or at Y.
  void CheckLinkRestricted() {
    const Atom* link = nullptr;
    for (const Atom& atom : rule_.atoms)
      if (atom.link_literal) link = &atom;
    if (link == nullptr) return;
    const int other = link->location == 0 ? 1 : 0;
    if (link->args.size() < 2) {
      out_.diagnostics.push_back(At(link->place, "a link has two ends", "#link(@X,Y)"));
      return;
    }
    const std::string ends[] = {KeyOf(link->args[static_cast<size_t>(link->location)]),
                                KeyOf(link->args[static_cast<size_t>(other)])};
    const auto check = [&](const Atom& atom) {
      const std::string at = KeyOf(atom.args[static_cast<size_t>(atom.location)]);
      if (at == ends[0] || at == ends[1]) return;
      out_.diagnostics.push_back(
          At(atom.place,
             fmt::format("the rule is link-restricted, and {} is at neither end of the link",
                         atom.name),
             fmt::format("its place is {} or {}; or leave the # away", ends[0], ends[1])));
    };
    check(rule_.head);
    for (const Atom& atom : rule_.atoms) check(atom);
  }

  Names BoundBy(const Group& group, Names bound) const {
    for (const size_t atom : group.atoms) bound.merge(VariablesOf(rule_.atoms[atom]));
    return Closure(std::move(bound), rule_.others);
  }

  std::vector<size_t> OrderFrom(size_t start) const {
    std::vector<size_t> order = {start};
    Names bound = BoundBy(groups_[start], {});
    for (bool found = true; found;) {
      found = false;
      for (size_t next = 0; next < groups_.size() && !found; ++next) {
        if (std::find(order.begin(), order.end(), next) != order.end()) continue;
        const Expression& at = groups_[next].location;
        if (at.kind == Expression::Kind::kVariable && bound.count(at.name) == 0) continue;
        order.push_back(next);
        bound = BoundBy(groups_[next], std::move(bound));
        found = true;
      }
    }
    return order;
  }

  void Split(const std::vector<size_t>& order) {
    FlatRule part = Part(groups_[order[0]]);
    std::vector<Term> others = rule_.others;
    bool event = groups_[order[0]].event;
    Names bound;
    for (const Atom& atom : part.atoms) bound.merge(VariablesOf(atom));
    for (size_t hop = 1; hop < order.size(); ++hop) {
      bound = TakeReady(others, part, std::move(bound));
      const Group& next = groups_[order[hop]];
      Atom mid;
      mid.name = fmt::format("{}_mid{}", rule_.label, hop);
      mid.place = rule_.place;
      mid.location = 0;
      mid.args.push_back(next.location);
      const Names needed = NeededFrom(order, hop, others);
      for (const std::string& name : bound) {
        const bool is_place =
            next.location.kind == Expression::Kind::kVariable && name == next.location.name;
        if (is_place || (!rule_.aggregate && needed.count(name) == 0)) continue;
        Expression variable;
        variable.kind = Expression::Kind::kVariable;
        variable.name = name;
        variable.place = rule_.place;
        mid.args.push_back(std::move(variable));
      }
      part.label = mid.name;
      part.head = mid;
      out_.mid_names.push_back(mid.name);
      out_.mid_is_event.push_back(event);
      out_.rules.push_back(std::move(part));

      part = Part(next);
      part.atoms.insert(part.atoms.begin(), mid);
      event = event || next.event;
      bound = VariablesOf(mid);
      for (const Atom& atom : part.atoms) bound.merge(VariablesOf(atom));
    }
    part.label = rule_.label;
    part.head = rule_.head;
    part.aggregate = rule_.aggregate;
    part.others = others;
    out_.rules.push_back(std::move(part));
  }

  FlatRule Part(const Group& group) const {
    FlatRule part;
    part.place = rule_.place;
    for (const size_t atom : group.atoms) part.atoms.push_back(rule_.atoms[atom]);
    return part;
  }

  // Terms that can be done here are done here: what they rule out is not sent.
  static Names TakeReady(std::vector<Term>& others, FlatRule& part, Names bound) {
    for (bool changed = true; changed;) {
      changed = false;
      for (size_t i = 0; i < others.size(); ++i) {
        const Readiness ready = ReadinessOf(others[i], bound);
        if (ready.what == Readiness::What::kNotYet) continue;
        if (ready.what == Readiness::What::kBinds) bound.insert(ready.variable);
        part.others.push_back(others[i]);
        others.erase(others.begin() + static_cast<std::ptrdiff_t>(i));
        changed = true;
        break;
      }
    }
    return bound;
  }

  Names NeededFrom(const std::vector<size_t>& order, size_t hop,
                   const std::vector<Term>& others) const {
    Names needed = VariablesOf(rule_.head);
    for (size_t later = hop; later < order.size(); ++later)
      for (const size_t atom : groups_[order[later]].atoms)
        needed.merge(VariablesOf(rule_.atoms[atom]));
    for (const Term& term : others) {
      CollectVariables(term.expression, needed);
      CollectVariables(term.target, needed);
      for (const Expression& arg : term.atom.args) CollectVariables(arg, needed);
    }
    return needed;
  }

  const FlatRule& rule_;
  std::vector<Group> groups_;
  Localized out_;
};

}  // namespace

Localized Localize(const FlatRule& rule,
                   const std::function<bool(const std::string&)>& is_event_name) {
  return Localizer(rule, is_event_name).Run();
}

}  // namespace wf::ndlog
