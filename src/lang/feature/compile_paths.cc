// The critical path between two places.
#include "lang/feature/feature_compiler.h"
#include "lang/feature/stage_types.h"

namespace wf::feature {

int FeatureCompiler::CriticalPathOf(const Call& call, const Environment& env) {
  Node node;
  node.op = Op::kCriticalPath;
  node.type = OneType(Element::kPath);
  if (call.arguments.empty()) return builder.Add(node);
  const Argument& range = call.arguments[0];
  if (range.kind != Argument::Kind::kRange)
    Fail(range.place, "CriticalPath goes from one element to another",
         "as in: CriticalPath(Begin->DisplayDone); without arguments it is the whole trace's");
  const Pipeline* ends[] = {range.from.get(), range.to.get()};
  for (size_t i = 0; i < 2; ++i) {
    node.in[i] = CompilePipeline(*ends[i], env);
    const Type type = builder.type(node.in[i]);
    if (type.shape != Shape::kElement)
      Fail(ends[i]->place, "an end of -> is one point or block; this is " + TypeName(type),
           "add | First or | Last");
    if (type.element != Element::kPoint && !IsBlock(type.element))
      Fail(ends[i]->place, "an end of -> is a point or a block; this is " + TypeName(type),
           "as in: … | Points | First");
  }
  return builder.Add(node);
}

}  // namespace wf::feature
