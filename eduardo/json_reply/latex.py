r"""LaTeX inside JSON strings: models write `\frac` where JSON wants `\\frac` and else reads a form feed."""

from __future__ import annotations

import re

_ESCAPE = re.compile(r"\\(?P<code>u[0-9a-fA-F]{4})|\\(?P<word>[a-zA-Z]+)|\\(?P<sign>.)", re.DOTALL)
# Commands that begin like an escape which prose really uses: \n (line break), \r and \t. `\b` and `\f` are
# rarer in prose than any command, so there every word counts as one.
_COMMAND = re.compile(
    "nabla|natural|ncong|ne|nearrow|neg|neq|newline|nexists|ngeq|ngtr|ni|nleftarrow|nleq|nless|nmid|nolimits"
    "|nonumber|norm|not|notin|nparallel|nprec|nrightarrow|nsubseteq|nsucc|nsupseteq|nu|nwarrow"
    "|raisebox|rangle|rbrace|rbrack|rceil|real|renewcommand|rfloor|rho|right|rightarrow|rightharpoonup"
    "|rightleftharpoons|rm|root|rvert"
    "|tag|tan|tanh|tau|text|textbf|textit|textrm|textstyle|tfrac|therefore|theta|thinspace|tilde|times|to|top"
    "|triangle|triangleleft|triangleq|triangleright|tt"
)


def keep_latex(source: str) -> str:
    """JSON source in which every backslash that begins a LaTeX command, or no JSON escape at all, is doubled.

    Backslashes that are doubled already stay as they are.
    """
    return _ESCAPE.sub(lambda escape: escape[0] if _is_json(escape) else "\\" + escape[0], source)


def _is_json(escape: re.Match[str]) -> bool:
    word = escape["word"]
    if word is None:
        return escape["code"] is not None or escape["sign"] in '"\\/'
    return word in ("b", "f") or (word[0] in "nrt" and not _COMMAND.fullmatch(word))
