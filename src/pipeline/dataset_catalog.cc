#include "pipeline/dataset_catalog.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "lang/common/suggestion.h"

namespace wf::pipeline {

Result<DatasetCatalog> DatasetCatalog::Load(store::DocumentStore& store,
                                            const std::string& tenant) {
  DatasetCatalog out;
  std::map<std::string, std::string> texts;
  std::map<std::string, bool> standing;
  for (const auto& [name, text] : StandingDatasets()) {
    texts[name] = text;
    standing[name] = true;
  }
  WF_ASSIGN(const auto saved, store.ReadDocuments(tenant, kDatasetKind));
  for (const store::Document& document : saved) {
    texts[document.name] = document.text;
    standing[document.name] = false;
  }
  for (const auto& [name, text] : texts) {
    if (text.empty()) continue;
    auto definition = ParseDataset(text, name);
    if (!definition.ok()) {
      out.faults_.emplace_back(name, definition.error());
      continue;
    }
    definition->standing = standing[name];
    out.definitions_.push_back(std::move(*definition));
  }
  WF_ASSIGN(out.features_, store.ReadDocuments(tenant, kFeatureKind));
  return out;
}

Status RetainDatasets(store::Store& store, const std::string& tenant) {
  WF_ASSIGN(const DatasetCatalog catalog, DatasetCatalog::Load(store, tenant));
  Status failed;  // one that cannot be thinned must not keep the others
  for (const DatasetDefinition& definition : catalog.definitions()) {
    const Status retained = store.RetainRows(tenant, definition.name, definition.retention);
    if (!retained.ok()) failed = retained;
  }
  return failed;
}

const DatasetDefinition* DatasetCatalog::Find(const std::string& name) const {
  for (const DatasetDefinition& definition : definitions_) {
    if (definition.name == name) return &definition;
  }
  return nullptr;
}

Result<DatasetDefinition> DatasetCatalog::Get(const std::string& name) const {
  if (const DatasetDefinition* found = Find(name)) return *found;
  for (const auto& [faulty, error] : faults_) {
    if (faulty == name) return error;
  }
  std::vector<std::string> names;
  for (const DatasetDefinition& definition : definitions_) names.push_back(definition.name);
  const std::string meant = lang::DidYouMean(name, names);
  return NotFound(fmt::format("dataset {}: no such dataset", name),
                  meant.empty() ? "wherefore dataset list shows them" : meant);
}

Status DatasetCatalog::Included(const DatasetDefinition& definition, std::vector<std::string>& path,
                                std::vector<std::string>& programs) const {
  path.push_back(definition.name);
  for (const std::string& name : definition.include) {
    if (std::find(path.begin(), path.end(), name) != path.end())
      return BadInput(fmt::format("dataset {}: includes itself through {}", name, path.back()),
                      "remove one include");
    WF_ASSIGN(const DatasetDefinition other, Get(name));
    WF_TRY(Included(other, path, programs));
    programs.push_back(other.columns);
  }
  path.pop_back();
  return {};
}

Result<feature::DatasetPlan> DatasetCatalog::Compile(const DatasetDefinition& definition,
                                                     const std::string& file) const {
  feature::DatasetText text{definition.filter, definition.row, definition.columns, {}};
  std::vector<std::string> path;
  WF_TRY(Included(definition, path, text.include));
  const feature::FeatureLibrary library =
      [this](std::string_view name) -> std::optional<std::string> {
    for (const store::Document& feature : features_) {
      if (feature.name == name) return feature.text;
    }
    if (const DatasetDefinition* other = Find(std::string(name))) return other->columns;
    return std::nullopt;
  };
  feature::DatasetPlan::Compiled compiled = feature::DatasetPlan::Compile(text, library);
  if (compiled.plan) return std::move(*compiled.plan);
  std::string message, hint;
  for (const feature::DatasetDiagnostic& one : compiled.diagnostics) {
    const std::pair<const char*, std::pair<const std::string*, int>> parts[] = {
        {"filter", {&definition.filter, definition.filter_line}},
        {"row", {&definition.row, definition.row_line}},
        {"columns", {&definition.columns, definition.columns_line}}};
    std::string place = fmt::format("{}: {}: line {}", file, one.part, one.diagnostic.line);
    std::string shown;
    for (const auto& [part, source] : parts) {
      if (one.part != part) continue;
      place = fmt::format("{}: line {}: {}", file, source.second + one.diagnostic.line - 1, part);
      shown = "\n" + lang::RenderDiagnostic(*source.first,
                                            {one.diagnostic.line, one.diagnostic.column,
                                             one.diagnostic.length, one.diagnostic.message, ""});
    }
    message += fmt::format("{}{}: {}{}", message.empty() ? "" : "\n", place, one.diagnostic.message,
                           shown);
    if (hint.empty()) hint = one.diagnostic.hint;
  }
  return BadInput(message.empty() ? file + ": no columns" : message, hint);
}

}  // namespace wf::pipeline
