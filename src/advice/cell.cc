#include "advice/cell.h"

#include "base/hash.h"

namespace wf::advice {

Cell Cell::Of(const Value& value) {
  switch (value.index()) {
    case 1:
      return Of(*std::get_if<bool>(&value));
    case 2:
      return Of(*std::get_if<int64_t>(&value));
    case 3:
      return Of(*std::get_if<double>(&value));
    case 4:
      return Of(std::string_view(*std::get_if<std::string>(&value)));
    case 5: {
      Cell cell = OfInteger(0, Type::kList);
      cell.list = std::get_if<List>(&value);
      return cell;
    }
    default:
      return Null();
  }
}

Value Cell::ToValue() const {
  switch (type) {
    case Type::kBool:
      return boolean;
    case Type::kInteger:
      return integer;
    case Type::kDouble:
      return real;
    case Type::kText:
      return std::string(view());
    case Type::kList:
      return *list;
    case Type::kNull:
      break;
  }
  return advice::Null();
}

[[gnu::hot]] bool SameKey(const Value& a, const Cell& b) {
  if (b.type != Cell::Type::kText) return SameKey(a, b.ToValue());
  const auto* text = std::get_if<std::string>(&a);
  return text != nullptr && *text == b.view();
}

[[gnu::hot]] uint64_t HashKey(const Cell& cell) {
  return cell.type == Cell::Type::kText ? HashIdentity(cell) : HashKey(cell.ToValue());
}

bool Identical(const Value& a, const Cell& b) {
  if (b.type != Cell::Type::kText) return Identical(a, b.ToValue());
  const auto* text = std::get_if<std::string>(&a);
  return text != nullptr && *text == b.view();
}

[[gnu::hot]] uint64_t HashIdentity(const Cell& cell) {
  return cell.type == Cell::Type::kText ? HashText(cell.view()) : HashIdentity(cell.ToValue());
}

}  // namespace wf::advice
