// DatasetCatalog: the datasets of a tenant: those that come with the program (config/datasets) and those
// saved in the store, which override standing ones of the same name; an empty saved text hides a standing
// one. Loaded as a whole; cheap enough to load again whenever something may have changed. Thread safety: a
// value.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "pipeline/dataset_definition.h"

namespace wf::pipeline {

constexpr char kDatasetKind[] = "dataset";  // kind of the documents
constexpr char kCallsDataset[] = "calls";   // the standing dataset of service calls
constexpr char kFeatureKind[] = "feature";  // texts that `use "NAME"` finds

// The standing datasets as YAML, by name.
const std::vector<std::pair<std::string, std::string>>& StandingDatasets();

class DatasetCatalog {
 public:
  static Result<DatasetCatalog> Load(store::DocumentStore& store, const std::string& tenant);

  const std::vector<DatasetDefinition>& definitions() const { return definitions_; }  // by name
  const DatasetDefinition* Find(const std::string& name) const;
  Result<DatasetDefinition> Get(const std::string& name) const;  // kNotFound with a suggestion
  // Saved texts that are not (or no longer) valid datasets: name and error. They are reported, and their rows
  // stay.
  const std::vector<std::pair<std::string, Error>>& faults() const { return faults_; }

  // Errors name the definition's line, with a caret. `file` is printed before the line.
  Result<feature::DatasetPlan> Compile(const DatasetDefinition& definition,
                                       const std::string& file) const;

 private:
  Status Included(const DatasetDefinition& definition, std::vector<std::string>& path,
                  std::vector<std::string>& programs) const;

  std::vector<DatasetDefinition> definitions_;
  std::vector<std::pair<std::string, Error>> faults_;
  std::vector<store::Document> features_;
};

// Deletes and thins old rows of every dataset, as its definition says. Rows without a definition stay.
Status RetainDatasets(store::Store& store, const std::string& tenant);

}  // namespace wf::pipeline
