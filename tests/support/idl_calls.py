"""Random calls of every method of Data and Admin, as messages.

The methods, and the types of their arguments, are read from the generated code, so that a new method is called without
a change here. An argument whose value must mean something, such as a table or a record, gets its value from a function
by its name:

    calls = Calls(random.Random(seed), {"table": lambda random: "events", "limit": lambda random: 5})
    frame = calls.frame(calls.methods[0])

The functions can return None for an argument that is to be absent. All other arguments get random values of their types.
"""
import collections

from keyway_gateway import framed
from keyway_thrift import Admin, Data
from thrift.protocol.TBinaryProtocol import TBinaryProtocol
from thrift.Thrift import TMessageType, TType
from thrift.transport.TTransport import TMemoryBuffer

Method = collections.namedtuple("Method", "service name arguments result")
DEPTH_MAX = 3


def methods():
    """All methods of both services, in a fixed order."""
    found = []
    for service in (Data, Admin):
        for name in sorted(name for name in dir(service.Iface) if not name.startswith("_")):
            arguments, result = (getattr(service, f"{name}_{part}") for part in ("args", "result"))
            found.append(Method(service, name, arguments, result))
    return found


def encode(method, arguments, sequence=1):
    """A framed binary message."""
    buffer = TMemoryBuffer()
    protocol = TBinaryProtocol(buffer)
    protocol.writeMessageBegin(method.name, TMessageType.CALL, sequence)
    arguments.write(protocol)
    protocol.writeMessageEnd()
    return framed(buffer.getvalue())


def decode(payload):
    """The method's name and the result struct of a reply; None instead of the struct for an exception of Thrift."""
    protocol = TBinaryProtocol(TMemoryBuffer(payload))
    name, kind, _ = protocol.readMessageBegin()
    if kind != TMessageType.REPLY:
        return name, None
    result = getattr(Data if hasattr(Data.Iface, name) else Admin, f"{name}_result")()
    result.read(protocol)
    return name, result


class Calls:
    def __init__(self, random, known):
        self.random = random
        self.known = known
        self.methods = methods()
        self.methods_by_name = {method.name: method for method in self.methods}

    def frame(self, method, sequence=1):
        return encode(method, self.struct(method.arguments, method.name), sequence)

    def struct(self, kind, within, depth=0):
        """A struct of the class `kind` with random members. `within` is the name of the method or of the member that has it.
        Each argument of a method is present; other optional members are present one time in three."""
        made = kind()
        for member in kind.thrift_spec:
            if member is None:
                continue
            name, is_argument = member[2], depth == 0
            if f"{within}.{name}" in self.known:
                value = self.known[f"{within}.{name}"](self.random)
            elif name in self.known:
                value = self.known[name](self.random)
            elif is_argument or self.random.random() < 0.33:
                value = self.value(member[1], member[3], name, depth)
            else:
                continue
            setattr(made, name, value)
        return made

    def value(self, kind, details, name, depth):
        random = self.random
        if kind == TType.BOOL:
            return random.random() < 0.5
        if kind in (TType.BYTE, TType.I16, TType.I32, TType.I64):
            return random.choice((0, 1, 2, 3, 10, 1000, 2**31 - 1, -1))
        if kind == TType.DOUBLE:
            return random.choice((0.0, 1.5, -1e300))
        if kind == TType.STRING:
            return random.randbytes(random.randrange(20)) if details == "BINARY" else random.choice(("", "x", "Łódź", "a" * 1000))
        if depth == DEPTH_MAX:
            return {TType.LIST: [], TType.SET: set(), TType.MAP: {}}.get(kind)
        if kind == TType.STRUCT:
            return self.struct(details[0], name, depth + 1)
        count = random.randrange(4)
        if kind in (TType.LIST, TType.SET):
            held = [self.value(details[0], details[1], name, depth + 1) for _ in range(count)]
            return [value for value in held if value is not None]
        if kind == TType.MAP:
            held = {self.value(details[0], details[1], name, depth + 1): self.value(details[2], details[3], name, depth + 1)
                    for _ in range(count)}
            return {key: value for key, value in held.items() if value is not None}
        raise AssertionError(f"{name}: Thrift type {kind}")
