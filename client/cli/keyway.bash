# Completion of keyway(1) for bash: commands, options, tables, and a table's fields.
_keyway()
{
    local cur=${COMP_WORDS[COMP_CWORD]} command='' table='' word i
    local commands='put get scan latest remove increment allocate import explain advise tables describe create forget scrub policy change check reload stats'
    local global='--gateway --timeout --output --raw --framed --compact --tls --tls-ca --tls-cert --tls-key --tls-name --help'
    local query='--where --any --from --after --to --through --asc --desc --limit --columns --path --filter --full-scan --page-rows --page-bytes'

    for ((i = 1; i < COMP_CWORD; i++)); do
        word=${COMP_WORDS[i]}
        if [[ $word == -* ]]; then continue; fi
        if [[ -z $command ]]; then
            if [[ " $commands " == *" $word "* ]]; then command=$word; fi
        elif [[ -z $table ]]; then
            table=$word
        fi
    done

    COMPREPLY=()
    if [[ $cur == -* ]]; then
        case $command in
        put) global+=' --if --if-absent --if-present --durability --version' ;;
        get | remove) global+=' --columns' ;;
        scan | latest) global+=" --explain $query" ;;
        explain) global+=" --put $query" ;;
        import) global+=' --format --reject --batch' ;;
        advise) global+=' --policy --sample --queries --table --regions --time --window --records --format --html' ;;
        describe) global+=' --paths' ;;
        policy)
            case $table in
            import) global+=' --message --dry-run' ;;
            apply) global+=' --message --dry-run --expect' ;;
            history) global+=' --before --limit' ;;
            diff) global+=' --sample --table --format' ;;
            show) ;;
            *) global+=' --layouts' ;;
            esac
            ;;
        change)
            case $table in
            status) global+=' --wait' ;;
            diff) global+=' --repair --state --rows-per-second --show' ;;
            switch) global+=' --expect --leave-undecodable' ;;
            complete) global+=' --expect --expire-cursors' ;;
            throttle) global+=' --expect --rows-per-second' ;;
            reverse | cancel | pause | resume | compare) global+=' --expect' ;;
            esac
            ;;
        create) global+=' --path --family --splits --splits-file --algorithm --regions --sample --if-absent' ;;
        forget) global+=' --path --drop-rows --yes' ;;
        scrub) global+=' --repair --state --rows-per-second --show' ;;
        '') global+=' --version' ;;
        esac
        mapfile -t COMPREPLY < <(compgen -W "$global" -- "$cur")
    elif [[ -z $command ]]; then
        mapfile -t COMPREPLY < <(compgen -W "$commands" -- "$cur")
    elif [[ $command == @(check|advise) || ($command == import && -n $table) ]]; then
        mapfile -t COMPREPLY < <(compgen -f -- "$cur")
    elif [[ $command == policy && -z $table ]]; then
        mapfile -t COMPREPLY < <(compgen -W 'import apply history show diff check' -- "$cur")
    elif [[ $command == change && -z $table ]]; then
        mapfile -t COMPREPLY < <(compgen -W 'list status diff switch reverse complete cancel pause resume throttle compare' -- "$cur")
    elif [[ $command == change && $table != list ]]; then
        mapfile -t COMPREPLY < <(compgen -W "$(keyway tables -o csv -t 500 2>/dev/null | tail -n +2)" -- "$cur")
    elif [[ $command == policy && $table == @(import|apply|diff|check) ]]; then
        mapfile -t COMPREPLY < <(compgen -f -- "$cur")
    elif [[ $command == @(tables|policy|change|reload|stats) ]]; then
        return
    elif [[ -z $table ]]; then
        mapfile -t COMPREPLY < <(compgen -W "$(keyway tables -o csv -t 500 2>/dev/null | tail -n +2)" -- "$cur")
    else
        mapfile -t COMPREPLY < <(compgen -S = -W "$(keyway describe "$table" -o csv -t 500 2>/dev/null | tail -n +2 | cut -d, -f1)" -- "$cur")
        compopt -o nospace
    fi
}
complete -F _keyway keyway
