#pragma once

namespace wf::answer {

constexpr char kVersion[] = "0.1.0";

}  // namespace wf::answer
