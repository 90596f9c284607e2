// Line charts one below the other, as an SVG: what a benchmark needs to show a figure.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace wf {

struct PanelSeries {
  std::string name, color;
  std::vector<double> values;  // one for each unit of time
};
struct Panel {
  std::string title;
  std::vector<PanelSeries> series;
};

// `marks`: times at which a vertical line stands in every panel.
Status WritePanels(const std::string& path, const std::string& title, const std::string& time_label,
                   const std::vector<double>& marks, const std::vector<Panel>& panels);

}  // namespace wf
