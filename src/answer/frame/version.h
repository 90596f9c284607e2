#pragma once

namespace wf {

constexpr char kVersion[] = "0.1.0";

}  // namespace wf
