"""Names of functions as people write them, whichever compiler spelled them."""

import re


def function_name(signature: str) -> str:
    """A demangled name without parameters, template arguments, clones and anonymous namespaces.

    Compilers spell these differently (and add `.cold`, `.llvm.123`) without any change in the source.
    """
    name = re.sub(r"\s*\[clone [^\]]*\]|\.(cold|part|llvm|constprop|isra)(\.\d+)*$", "", signature)
    name = name.replace("(anonymous namespace)::", "")
    while (shorter := re.sub(r"<[^<>]*>", "", name)) != name:
        name = shorter
    name = name.partition("(")[0].strip()
    return name.rpartition(" ")[2] if " " in name and "operator" not in name else name
