# Completes voltmill's commands, options, alternatives and files in bash. The program itself says what there is.
_voltmill() {
    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} first= second=
    # bash takes --x=y apart: "--x", "=", "y".
    if [ "$word" = = ]; then
        word=
    elif [ "$before" = = ]; then
        before=${COMP_WORDS[COMP_CWORD - 2]}
    fi
    [ "$COMP_CWORD" -lt 2 ] || first=${COMP_WORDS[1]}
    [ "$COMP_CWORD" -lt 3 ] || second=${COMP_WORDS[2]}

    # What may stand here: `words`, and files whose names end in `ends` (* for any, nothing for none).
    local kind name option letter value choices text command=no is_value=no ends= words=() options=(--help)
    [ -n "$first" ] || options+=(--version)
    while IFS=$'\t' read -r kind name option letter value choices text; do
        if [ "$kind" = command ]; then
            command=no
            if [ "$name" = "$first" ] || [ "$name" = "$first $second" ]; then
                command=yes ends=${value#-}
            elif [ -z "$first" ]; then
                words+=("${name%% *}")
            elif [ -z "$second" ] && [ "${name% *}" = "$first" ]; then
                words+=("${name#* }")
            fi
        elif [ "$kind,$command" = option,yes ]; then
            options+=("$option")
            if [ "$value" != - ] && { [ "$before" = "$option" ] || [ "$before" = "-$letter" ]; }; then
                is_value=yes
                case $value in
                FILE | PATTERN) ends='*' ;;
                *) ends= ;;
                esac
                IFS='|' read -ra words <<<"${choices#-}"
            fi
        fi
    done < <("${COMP_WORDS[0]/#\~/$HOME}" --options 2>/dev/null)
    if [ "$is_value" = no ] && [[ $word == -* ]]; then
        words=("${options[@]}") ends=
    fi

    mapfile -t COMPREPLY < <(
        [ "${#words[@]}" = 0 ] || compgen -W "$(printf '%s\n' "${words[@]}" | grep -v ' ')" -- "$word" | sort -u
        if [ -n "$ends" ]; then
            shopt -s extglob
            compgen -d -- "$word"
            compgen -f -X "!*@($ends)" -- "$word" | while IFS= read -r text; do [ -d "$text" ] || printf '%s\n' "$text"; done
        fi
    )
    [ -z "$ends" ] || compopt -o filenames 2>/dev/null || true
}
complete -F _voltmill voltmill
