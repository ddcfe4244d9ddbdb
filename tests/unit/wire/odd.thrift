/* Types and names that neither interface contains, for the tests of the generator and the codec. */

enum Colour { RED = 1, BLUE = -7 }

/** Contains itself as members and in lists. */
struct Tree {
  1: optional Tree left,
  2: optional list<Tree> children,
  3: optional i32 leaf
}

struct Nothing {}

struct Key {
  1: required i16 small,
  2: required bool flag
}

typedef list<i32> Numbers
typedef map<i32, Later> LaterByNumber

/** Ids out of order, far apart, and names that are words of C. */
struct Odd {
  300: optional i64 int,
  2: required bool short,
  1: optional i8 char,
  40: optional i16 signed = -5,
  41: optional double real = 2.5,
  42: optional string text = "a \"quoted\" word",
  43: optional Colour colour = Colour.BLUE,
  44: optional bool yes = true,
  45: optional set<i16> shorts,
  46: optional list<bool> flags,
  47: optional list<double> reals,
  48: optional map<Key, list<map<i8, binary>>> deep,
  49: optional list<Nothing> nothings,
  50: optional Nothing nothing,
  51: optional Numbers numbers,
  52: optional list<Numbers> numbers_list,
  53: optional LaterByNumber later_by_number,
  54: optional map<bool, double> bools,
  55: optional list<i64> longs,
  56: optional list<i8> bytes,
  57: optional set<Key> keys,
  32767: optional bool last
}

/** Declared after its first use. */
struct Later {
  1: required string name,
  2: optional Tree tree
}

union Either {
  1: i32 number,
  2: Later later
}

exception Gone { 1: string why }
exception Lost { 1: i32 where }

service Oddities {
  oneway void fire(1: i32 shots = 3),
  Odd echo(1: required Odd odd, 2: Either either) throws (1: Gone gone, 2: Lost lost),
  list<Tree> trees()
}
