"""What a C++ file defines at namespace scope, by a light reading of its text: enough for tools/check-layers, which must
know which types and namespaces a file defines, and no compiler.

Comments, strings and preprocessor lines are blanked first; of `#if … #else` the first branch is read. Then only braces
and semicolons matter: what stands before a brace tells whether it opens a namespace, a type, or something to skip.
"""
import collections
import re

# kind: struct, class, union, enum or using; name: as written, with template arguments if it is a specialization;
# namespace: "a::b", and anonymous: whether any part of it has no name.
Type = collections.namedtuple("Type", "kind name namespace anonymous line text")
# A namespace in which the file defines something, with the line of the first such thing.
Opened = collections.namedtuple("Opened", "namespace anonymous line")

NOISE = re.compile(r"""//[^\n]*|/\*.*?\*/            # comments
    |\b(?:u8|[uUL])?R"([^()\\\s]{0,16})\(.*?\)\1"     # raw strings
    |(?:\b(?:u8|[uUL]))?"(?:\\.|[^"\\\n])*"           # strings
    |\b\d[\w.']*                                     # numbers, for the ' in them
    |(?:\b(?:u8|[uUL]))?'(?:\\.|[^'\\\n])+'           # characters""", re.S | re.X)
ATTRIBUTE = re.compile(r"\[\[[^\]]*\]\]|\b(?:alignas|__attribute__|__declspec)\s*\(+[^()]*(?:\([^()]*\)[^()]*)*\)+")
# A macro call that needs no semicolon, above a declaration.
MACRO_CALL = re.compile(r"^(?:[A-Z][A-Z0-9_]*\s*\([^()]*(?:\([^()]*\)[^()]*)*\)\s*)+(?=(?:template|struct|class|union|enum|using|namespace)\b)")
SPECIFIERS = r"(?:(?:inline|static|constexpr|const|typedef|extern|export)\s+)*"
TYPE = re.compile(SPECIFIERS + r"(?P<kind>struct|class|union|enum(?:\s+(?:class|struct))?)\s+(?:[A-Z][A-Z0-9_]*\s+)??"
                  r"(?P<name>[A-Za-z_]\w*(?:\s*::\s*\w+)*(?:\s*<.*>)?)\s*(?:final\s*)?(?P<bases>:(?!:).*)?$", re.S)
FUNCTION = re.compile(r"(?:[^=(]|operator\s*[^\s\w]+)*\(.*\)[^=]*$", re.S)
NAMESPACE = re.compile(r"(?:inline\s+)?namespace\b\s*(?P<name>[\w:\s]*)$")
USING = re.compile(r"using\s+(?P<name>\w+)\s*=\s*(?P<text>.*)$", re.S)
TYPEDEF = re.compile(r"typedef\s+(?P<text>[^()]*[\s*&])(?P<name>\w+)$", re.S)
# Says nothing new about another namespace: forward declarations, and names taken from elsewhere.
DECLARES_ONLY = re.compile(r"(?:(?:struct|class|union|enum(?:\s+(?:class|struct))?)\s+\w+(?:\s*:\s*[\w:\s]+)?"
                           r"|using\s+(?:namespace\s+)?[\w:\s]+|namespace\s+\w+\s*=\s*[\w:\s]+|static_assert.*)$", re.S)


def blanked(text):
    """The text without comments, strings and preprocessor lines; every line keeps its number."""
    def blank(found):
        token = found.group()
        if token[0].isdigit():
            return "0"
        return ("" if token[0] == "/" else '""') + "\n" * token.count("\n") or " "

    lines = NOISE.sub(blank, text).split("\n")
    branches = []  # one entry for each open #if: "read" while in the branch that is read, "skip" before it, "done" after it
    in_directive = False
    for index, line in enumerate(lines):
        directive = not in_directive and re.match(r"\s*#\s*(\w+)", line)
        if directive:
            word = directive[1]
            if word in ("if", "ifdef", "ifndef"):
                branches.append("skip" if re.match(r"\s*#\s*if\s+0\s*$", line) else "read")
            elif word in ("else", "elif") and branches:
                branches[-1] = "read" if branches[-1] == "skip" else "done"
            elif word == "endif" and branches:
                branches.pop()
        if directive or in_directive or any(branch != "read" for branch in branches):
            in_directive = bool(directive or in_directive) and line.endswith("\\")
            lines[index] = ""
    return "\n".join(lines)


def bared(head):
    """What stands before a brace or semicolon, without attributes and without its template head."""
    head = MACRO_CALL.sub("", ATTRIBUTE.sub("", head).strip())
    while True:
        found = re.match(r"template\s*<", head)
        if not found:
            return head
        depth, at = 1, found.end()
        while at < len(head) and depth:
            depth += {"<": 1, ">": -1}.get(head[at], 0)
            at += 1
        head = re.sub(r"^requires\b.*?(?=\b(?:struct|class|union|using)\b)", "", head[at:].strip(), flags=re.S)


def declarations(text):
    """(types, opened): what the file defines at namespace scope, and the namespaces it does so in."""
    text = blanked(text)
    types, opened = [], {}
    stack = []  # of what is open around the statement: namespaces by name, "" without one, None for extern "C"
    begin = 0  # of the statement that is being read
    depth = 0  # of braces that are not namespaces; everything in them is skipped
    head = ""  # what stood before the outermost of them

    def note(statement, has_body):
        """One whole statement at namespace scope."""
        bare = bared(statement)
        if not bare or (not has_body and DECLARES_ONLY.match(bare)):
            return
        key = ("::".join(filter(None, stack)), "" in stack)
        at = begin + len(text[begin:]) - len(text[begin:].lstrip())
        line = text.count("\n", 0, at) + 1
        opened.setdefault(key, Opened(*key, line))
        for pattern, kind in [(TYPE, None)] if has_body else [(USING, "using"), (TYPEDEF, "using")]:
            found = pattern.match(bare)
            if found:
                what = found.groupdict()
                name = re.sub(r"\s+", "", what["name"])
                text_of = re.sub(r"\s+", " ", what.get("text") or "").strip()
                at = text.find(what["name"].split("<")[0].rstrip(), at)
                line = text.count("\n", 0, at) + 1
                if text_of not in (f"struct {name}", f"union {name}", f"enum {name}"):  # C's way to drop the keyword
                    types.append(Type(kind or what["kind"].split()[0], name, *key, line, text_of))
                return

    for found in re.finditer(r"[{};]", text):
        sign, at = found.group(), found.start()
        if depth:
            depth += {"{": 1, "}": -1}.get(sign, 0)
            if depth == 0:
                # A type's brace ends its definition; what follows up to the semicolon are variables of it. A
                # function's body ends it. An initializer's brace is in the middle of a statement.
                bare = bared(head)
                if TYPE.match(bare) or FUNCTION.match(bare):
                    note(head, has_body=True)
                    begin = at + 1
            continue
        before = text[begin:at].strip()
        if sign == ";":
            note(before, has_body=False)
            begin = at + 1
        elif sign == "}":
            if stack:
                stack.pop()
            begin = at + 1
        else:
            space = NAMESPACE.match(bared(before))
            if space:
                stack.append(re.sub(r"\s+|\binline\b", "", space["name"]))
                begin = at + 1
            elif re.match(r'extern\s*""$', before):
                stack.append(None)
                begin = at + 1
            else:
                depth, head = 1, before
    return types, list(opened.values())
