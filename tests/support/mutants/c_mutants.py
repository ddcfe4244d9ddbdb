"""Lists the mutants of a C source file. A mutant is the file with one changed operator, one changed constant or
one removed statement. A small tokenizer finds the places, so comments, strings and preprocessor lines stay as they
are.

Not mutated: assertions and log messages (no caller depends on them), and declarations."""
import re
from typing import Iterator, NamedTuple

TOKEN = re.compile(r'''
    (?P<skip>\s+|//[^\n]*|/\*.*?\*/)
  | (?P<text>(?:u8|[LuU])?"(?:\\.|[^"\\\n])*"|[LuU]?'(?:\\.|[^'\\\n])+')
  | (?P<number>\.?[0-9](?:[eEpP][+-]|[0-9a-zA-Z_.])*)
  | (?P<name>[A-Za-z_][A-Za-z0-9_]*)
  | (?P<mark>\.\.\.|<<=|>>=|->|\+\+|--|<<|>>|<=|>=|==|!=|&&|\|\||[-+*/%&|^]=
      |[-+*/%&|^~!<>=?:;,.(){}\[\]\#])
''', re.VERBOSE | re.DOTALL)

OPERATORS = {
    '==': ['!='], '!=': ['=='], '<': ['<=', '>='], '>': ['>=', '<='], '<=': ['<', '>'], '>=': ['>', '<'],
    '&&': ['||'], '||': ['&&'], '+': ['-'], '-': ['+'], '/': ['*'], '%': ['*'], '<<': ['>>'], '>>': ['<<'],
    '+=': ['-='], '-=': ['+='], '++': ['--'], '--': ['++'], '|': ['&'], '^': ['&'], '|=': ['&='], '&=': ['|='],
    '!': [''], '*': ['+'], '&': ['|'],
}
NEVER_UNARY = set(OPERATORS) - {'+', '-', '*', '&', '!', '++', '--'}
KEYWORDS = set('''auto break case char const continue default do double else enum extern float for goto if inline int
    long register restrict return short signed sizeof static struct switch typedef union unsigned void volatile
    while'''.split())
UNCHANGED_CALL = re.compile(r'^(g_assert\w*|assert|static_assert|_Static_assert|g_return\w*|kw_log\w*|kw_fence_\w*)$')
ASSIGNMENTS = {'=', '+=', '-=', '*=', '/=', '%=', '&=', '|=', '^=', '<<=', '>>=', '++', '--'}


class Token(NamedTuple):
    kind: str
    text: str
    start: int
    end: int


class Mutant(NamedTuple):
    """Bytes [start, end) of the file become `text`."""
    start: int
    end: int
    text: str


def blank_preprocessor_lines(source: str) -> str:
    """Replaces preprocessor lines by spaces, so that offsets stay the same."""
    line = r'^[ \t]*#(?:[^\n]*\\\n)*[^\n]*'
    return re.sub(line, lambda m: re.sub(r'[^\n]', ' ', m.group()), source, flags=re.MULTILINE)


def tokens_of(source: str) -> list[Token]:
    text, at, tokens = blank_preprocessor_lines(source), 0, []
    while at < len(text):
        match = TOKEN.match(text, at)
        if not match:
            raise ValueError(f'cannot read {text[at:at + 20]!r} at byte {at}')
        if match.lastgroup != 'skip':
            tokens.append(Token(match.lastgroup, match.group(), at, match.end()))
        at = match.end()
    return tokens


def closing(tokens: list[Token], at: int) -> int:
    """The index of the bracket that closes the one at `at`."""
    depth = 0
    for i in range(at, len(tokens)):
        depth += (tokens[i].text in '([{') - (tokens[i].text in ')]}')
        if depth == 0:
            return i
    return len(tokens) - 1


def unchanged(tokens: list[Token]) -> set[int]:
    """The indices of tokens inside assertions and log messages."""
    found: set[int] = set()
    for i in range(len(tokens) - 1):
        if tokens[i].kind == 'name' and UNCHANGED_CALL.match(tokens[i].text) and tokens[i + 1].text == '(':
            found.update(range(i, closing(tokens, i + 1) + 1))
    return found


def ends_an_operand(token: Token) -> bool:
    return token.kind in ('number', 'text') or token.text in (')', ']') or (
        token.kind == 'name' and token.text not in KEYWORDS)


def operator_mutants(tokens: list[Token], i: int) -> Iterator[Mutant]:
    token, before = tokens[i], tokens[i - 1] if i else Token('mark', ';', 0, 0)
    if token.text not in OPERATORS:
        return
    binary = token.text in NEVER_UNARY or ends_an_operand(before)
    if token.text in ('+', '-', '*', '&') and not binary:
        return
    for other in OPERATORS[token.text]:
        yield Mutant(token.start, token.end, other)


def changed_number(text: str) -> Iterator[str]:
    match = re.fullmatch(r'(0[xX][0-9a-fA-F]+|[0-9]+)([uUlL]*)', text)
    if not match:
        return
    value = int(match.group(1), 0) if not re.fullmatch(r'0[0-7]+', match.group(1)) else int(match.group(1), 8)
    for other in [1] if value == 0 else [value - 1, value + 1]:
        yield f'{other}{match.group(2)}'


def constant_mutants(tokens: list[Token], i: int) -> Iterator[Mutant]:
    token = tokens[i]
    if token.kind == 'number':
        for text in changed_number(token.text):
            yield Mutant(token.start, token.end, text)
    elif token.text in ('true', 'false'):
        yield Mutant(token.start, token.end, 'false' if token.text == 'true' else 'true')


def statement_end(tokens: list[Token], i: int) -> int:
    """The index of the semicolon that ends the statement at `i`, or 0 if a block begins first."""
    while i < len(tokens) and tokens[i].text not in (';', '}'):
        i = closing(tokens, i) + 1 if tokens[i].text in ('(', '[', '{') else i + 1
    return i if i < len(tokens) and tokens[i].text == ';' else 0


def removable(tokens: list[Token], i: int, end: int) -> bool:
    """True for calls, assignments, increments, and for jumps that are the body of an if."""
    first, after_condition = tokens[i], tokens[i - 1].text in (')', 'else')
    if first.text in ('return', 'continue', 'break'):
        return after_condition
    if first.text in KEYWORDS or first.kind not in ('name', 'mark') or first.text in (';', '}', '{', ')', ':'):
        return False
    if first.kind == 'name' and tokens[i + 1].kind == 'name':
        return False
    pointer = first.kind == 'name' and tokens[i + 1].text == '*' and tokens[i + 2].kind == 'name'
    if pointer and tokens[i + 3].text in ('=', ';', ','):
        return False
    return tokens[i + 1].text == '(' or any(token.text in ASSIGNMENTS for token in tokens[i:end])


def statement_mutants(tokens: list[Token], i: int, kept: set[int]) -> Iterator[Mutant]:
    if i in kept or tokens[i - 1].text not in (';', '{', '}', ')', 'else'):
        return
    end = statement_end(tokens, i)
    if end and removable(tokens, i, end):
        yield Mutant(tokens[i].start, tokens[end].start, '')


def function_bodies(tokens: list[Token]) -> list[tuple[int, int]]:
    bodies, i = [], 0
    while i < len(tokens):
        if tokens[i].text == '{':
            end = closing(tokens, i)
            if tokens[i - 1].text == ')':
                bodies.append((i, end))
            i = end
        i += 1
    return bodies


def for_clauses(tokens: list[Token], start: int, end: int) -> set[int]:
    """The indices inside the parentheses of for and of other conditions: no statement begins there."""
    found: set[int] = set()
    for i in range(start, end):
        if tokens[i].text == '(':
            found.update(range(i + 1, closing(tokens, i) + 1))
    return found


def mutants_of(source: str) -> list[Mutant]:
    tokens = tokens_of(source)
    kept, found = unchanged(tokens), []
    for start, end in function_bodies(tokens):
        inside = for_clauses(tokens, start, end)
        for i in range(start + 1, end):
            if i not in kept:
                found += operator_mutants(tokens, i)
                found += constant_mutants(tokens, i)
            if i not in inside:
                found += statement_mutants(tokens, i, kept)
    return found


def one_line(text: str) -> str:
    return ' '.join(text.split())


def first_line(source: str, mutant: Mutant) -> int:
    """Where the lines begin that describe a mutant. The condition of a removed statement is one of them, because
    many lines are just `return false;`."""
    start = source.rfind('\n', 0, mutant.start) + 1
    alone = not mutant.text and not source[start:mutant.start].strip()
    if alone and source[:start].rstrip().endswith((')', 'else')):
        start = source[:start].rstrip().rfind('\n') + 1
    return start


def described(source: str, mutant: Mutant) -> tuple[str, str]:
    """The lines that a mutant changes, before and after, each as one line."""
    start = first_line(source, mutant)
    end = source.find('\n', mutant.end)
    before = source[start:end]
    after = source[start:mutant.start] + mutant.text + source[mutant.end:end]
    return one_line(before), one_line(after)


def applied(source: str, mutant: Mutant) -> str:
    """The file with the mutant. The line ends of a removed statement stay, and so the numbers of the lines."""
    removed = source[mutant.start:mutant.end]
    return source[:mutant.start] + mutant.text + '\n' * removed.count('\n') + source[mutant.end:]
