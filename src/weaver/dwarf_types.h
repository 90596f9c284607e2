// Types as DWARF describes them: what a typedef stands for, where a member is, and how the calling convention
// of x86-64 passes a value of the type.
//
// Files may be damaged or malicious, so every walk is bounded.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "elf/elf_image.h"

namespace wf::weaver {

// The type of a variable, member, pointer or function; empty: void.
std::optional<Dwarf_Die> TypeOf(const Dwarf_Die& die);
// Without typedefs, const, volatile and the like.
std::optional<Dwarf_Die> Peel(std::optional<Dwarf_Die> type);
std::string TypeName(std::optional<Dwarf_Die> type);
// With typedefs replaced by what they stand for.
std::string ResolvedTypeName(std::optional<Dwarf_Die> type);
std::string DieName(const Dwarf_Die& die);
std::optional<uint64_t> ByteSize(const Dwarf_Die& type);
std::optional<uint64_t> UnsignedAttribute(const Dwarf_Die& die, unsigned attribute);
bool HasFlag(const Dwarf_Die& die, unsigned attribute);
int TagOf(const Dwarf_Die& die);
std::vector<Dwarf_Die> Children(const Dwarf_Die& die);

bool IsPointer(const Dwarf_Die& type);  // or a reference
bool IsReference(const Dwarf_Die& type);
bool IsClass(const Dwarf_Die& type);  // class, struct or union
bool IsFloating(const Dwarf_Die& type);
bool IsCharacter(const Dwarf_Die& type);  // one byte of text

// Where the file only declares the class, returns its definition elsewhere in the file; `type` itself if
// there is none.
Dwarf_Die CompleteType(const elf::ElfImage& image, const Dwarf_Die& type);

struct Member {
  std::optional<Dwarf_Die> type;
  uint64_t offset = 0;  // bytes from the beginning of the class
  uint32_t bits = 0;    // of a bit-field; 0: not a bit-field
  uint32_t first_bit = 0;
};
// Also searches base classes and unnamed members. NotFound lists the existing members.
Result<Member> FindMember(const elf::ElfImage& image, const Dwarf_Die& type, std::string_view name);
enum class MemberKind : uint8_t { kAny, kPointer };
std::optional<Member> TryMember(const elf::ElfImage& image, const Dwarf_Die& type,
                                std::string_view name, MemberKind kind = MemberKind::kAny);

// std::string and std::string_view, even where the file only declares them: their layouts are part of the ABI
// that their namespaces identify.
struct TextLayout {
  uint64_t pointer = 0, length = 0;  // offsets in the object
  // The length is this many bytes before the text (strings before C++11); 0: it is not there.
  uint64_t length_before_text = 0;
};
std::optional<TextLayout> TextLayoutOf(const elf::ElfImage& image, const Dwarf_Die& type);
bool IsText(const Dwarf_Die& type);  // of char

// How a value of the type is passed or returned (System V ABI for x86-64, and the C++ ABI for types that
// cannot be copied bit by bit).
enum class PassedIn : uint8_t {
  kNothing,    // an empty class
  kRegisters,  // `eightbytes` lists them
  kStack,      // by value, on the stack; returned: in memory whose address the caller gave
  kReference,  // its address is passed
  kUnknown,
};
enum class EightByte : uint8_t { kNone, kInteger, kSse };
struct Passing {
  PassedIn in = PassedIn::kUnknown;
  std::vector<EightByte> eightbytes;  // one or two
  uint64_t size = 0;
};
Passing HowPassed(const elf::ElfImage& image, std::optional<Dwarf_Die> type);

}  // namespace wf::weaver
