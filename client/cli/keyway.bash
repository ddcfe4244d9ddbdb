# Completion of keyway(1) for bash: commands, options and their values, tables, paths and fields. Commands and
# options come from --help, names from the gateway. Names are never expanded by the shell: compgen -W would do so.

# How long the gateway can take to return names.
: "${_keyway_timeout_ms:=500}"

# Adds the lines of standard input that begin with $1, quoted, each followed by $2.
_keyway_add()
{
    local name

    while IFS= read -r name; do
        if [[ -n $name && $name == "$1"* ]]; then COMPREPLY+=("$(printf '%q%s' "$name" "$2")"); fi
    done
}

# Fills the arrays `letters` (letter to option) and `values` (option to 1 if it has a value) for a command.
_keyway_load()
{
    local letter option value

    letters=() values=()
    while IFS='|' read -r letter option value; do
        if [[ -n $letter ]]; then letters[$letter]=$option; fi
        values[$option]=${value:+1}
    done < <("$program" "$@" --help 2>/dev/null | sed -nE 's/^  (-([a-z]), )?--([a-z-]+)(=[^ ]*)?( .*)?$/\2|\3|\4/p')
}

# The indented names under "Commands" in the help of a command.
_keyway_commands()
{
    "$program" "$@" --help 2>/dev/null | sed -nE '/^Commands/,/^$/s/^  ([a-z]+) .*/\1/p'
}

# One column of what a command prints; an operand of the user follows --.
_keyway_ask()
{
    "$program" "${connection[@]}" -t "$_keyway_timeout_ms" -o csv "${@:2}" 2>/dev/null | tail -n +2 | cut -d, -f"$1"
}

# $1: an option with a value; $2: the beginning of the value.
_keyway_value()
{
    case $1 in
    output) _keyway_add "$2" '' < <(printf '%s\n' table json jsonl csv) ;;
    path) _keyway_add "$2" '' < <(_keyway_ask 2 describe --paths -- "$table") ;;
    columns | if-absent | if-present) _keyway_add "$2" '' < <(_keyway_ask 1 describe -- "$table") ;;
    where | any | from | after | to | through | if)
        _keyway_add "$2" = < <(_keyway_ask 1 describe -- "$table")
        compopt -o nospace
        ;;
    format) _keyway_add "$2" '' < <(printf '%s\n' csv jsonl) ;;
    durability) _keyway_add "$2" '' < <(printf '%s\n' default skip async sync fsync) ;;
    algorithm) _keyway_add "$2" '' < <(printf '%s\n' HexStringSplit UniformSplit DecimalStringSplit rule) ;;
    expect)
        if [[ $command == change ]]; then _keyway_add "$2" '' < <(printf '%s\n' both-old both-new closing-new); fi
        ;;
    policy | sample | queries | html | reject | state | splits-file | tls-ca | tls-cert | tls-key)
        mapfile -t COMPREPLY < <(compgen -f -- "$2")
        compopt -o filenames
        ;;
    esac
}

# Reads the words before the cursor: sets command, inner, table, connection, and `waiting`, the option whose value
# the cursor is in.
_keyway_read()
{
    local word option at_end=''

    _keyway_load
    for word in "$@"; do
        if [[ -n $waiting ]]; then
            if [[ $waiting == gateway || $waiting == tls-* ]]; then connection+=("--$waiting=$word"); fi
            waiting=''
        elif [[ -n $at_end || $word != -?* ]]; then
            if [[ -z $command ]]; then
                command=$word
                _keyway_load "$command"
                if [[ $command == help ]]; then command=''; fi
            elif [[ -z $inner && $command == @(policy|change|catalog) ]]; then
                inner=$word
                _keyway_load "$command" "$inner"
            elif [[ -z $table ]]; then
                table=$word
            fi
        elif [[ $word == -- ]]; then
            at_end=1
        else
            option=${word#--}
            if [[ $word != --* ]]; then option=${letters[${word:1:1}]}; fi
            case $option in
            gateway=* | tls | tls-*=* | framed | compact) connection+=("--$option") ;;
            *) if [[ -n $option && -n ${values[$option]} && ($word == --* || ${#word} == 2) ]]; then waiting=$option; fi ;;
            esac
        fi
    done
}

_keyway_argument()
{
    if [[ -z $command ]]; then
        _keyway_add "$1" '' < <(_keyway_commands)
    elif [[ $command == @(policy|change|catalog) && -z $inner ]]; then
        _keyway_add "$1" '' < <(_keyway_commands "$command")
    elif [[ $command == @(check|advise|policy|catalog) || ($command == import && -n $table) ]]; then
        mapfile -t COMPREPLY < <(compgen -f -- "$1")
        compopt -o filenames
    elif [[ $command == @(tables|reload|stats) || ($command == change && $inner == list) ]]; then
        return
    elif [[ -z $table ]]; then
        _keyway_add "$1" '' < <(_keyway_ask 1 tables)
    elif [[ $command != @(change|create|describe|forget|scrub) && $1 != *=* ]]; then
        _keyway_add "$1" = < <(_keyway_ask 1 describe -- "$table")
        compopt -o nospace
    fi
}

_keyway()
{
    local line=${COMP_LINE:0:COMP_POINT} words current command='' inner='' table='' waiting=''
    local -a connection=()
    local -A letters=() values=()

    read -ra words <<< "$line"
    if [[ $line == *[[:blank:]] ]]; then words+=(''); fi
    local program=${words[0]}
    current=${words[-1]}
    COMPREPLY=()
    _keyway_read "${words[@]:1:${#words[@]}-2}"
    if [[ -n $waiting ]]; then
        _keyway_value "$waiting" "$current"
    elif [[ $current == --*=* ]]; then
        current=${current#--}
        _keyway_value "${current%%=*}" "${current#*=}"
    elif [[ $current == -* ]]; then
        _keyway_add "$current" '' < <(printf -- '--%s\n' "${!values[@]}")
    else
        _keyway_argument "$current"
    fi
}
complete -F _keyway keyway
