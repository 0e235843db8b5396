# From the preprocessed mpi.h: with -v have=1 a HAVE_ macro for each MPI function; otherwise a wrapper for each that
# the recorder's other files do not define.
# Arguments: names that are defined (a file), counted.def, the preprocessed header.

FNR == 1 { file++ }
!have && file == 1 { defined[$1] = 1; next }
!have && file == 2 {
    if (match($0, /^COUNTED\([0-9]+, MPI_[A-Za-z_0-9]+\)/)) {
        split(substr($0, 9, RLENGTH - 9), entry, ", ")
        number[entry[2]] = entry[1]
    }
    next
}
/^#/ { next }
{ header = header " " $0 }

# Removes __attribute__((...)) with all that is in its parentheses.
function without_attributes(text,    at, depth, k, c) {
    while ((at = index(text, "__attribute__")) > 0) {
        depth = 0
        for (k = at + 13; k <= length(text); k++) {
            c = substr(text, k, 1)
            depth += c == "(" ? 1 : c == ")" ? -1 : 0
            if (c == ")" && depth == 0) break
        }
        text = substr(text, 1, at - 1) " " substr(text, k + 1)
    }
    return text
}

# The names of a list of parameters; "?" if one has none.
function arguments(parameters,    parts, count, k, name, all) {
    count = split(parameters, parts, ",")
    all = ""
    for (k = 1; k <= count; k++) {
        name = parts[k]
        gsub(/\[[^]]*\]/, "", name)
        sub(/^[ \t]+/, "", name)
        sub(/[ \t]+$/, "", name)
        if (name == "void" && count == 1) return ""
        if (name !~ /[ *][A-Za-z_][A-Za-z_0-9]*$/) return "?"
        sub(/.*[ *]/, "", name)
        all = all (k > 1 ? ", " : "") name
    }
    return all
}

END {
    count = split(header, declarations, ";")
    unnumbered = 0
    # The included file defines only one of the two where the other is not asked for.
    if (!have) {
        print "#ifndef NUMBERED\n#define NUMBERED(number, result, name, parameters, arguments)\n#define NO_NUMBERED\n#endif"
        print "#ifndef UNNUMBERED\n#define UNNUMBERED(at, result, name, parameters, arguments)\n#define NO_UNNUMBERED\n#endif"
    }
    for (d = 1; d <= count; d++) {
        text = without_attributes(declarations[d])
        gsub(/[ \t]+/, " ", text)
        # Result, name, parameters: no function pointers, no tool interface, no extensions.
        if (!match(text, / MPI_[A-Z][A-Za-z_0-9]* ?\(/)) continue
        before = substr(text, 1, RSTART - 1)
        name = substr(text, RSTART + 1, RLENGTH - 2)
        sub(/ $/, "", name)
        parameters = substr(text, RSTART + RLENGTH)
        sub(/\) *$/, "", parameters)
        sub(/.*[{}]/, "", before)
        gsub(/(^| )(extern|inline|__extension__)( |$)/, " ", before)
        gsub(/^ +| +$/, "", before)
        if (name ~ /^MPI_T_/ || before ~ /typedef|\(|=|static|return/ || before == "" || seen[name]++) continue
        if (parameters ~ /[()]/ || parameters ~ /\.\.\./) continue
        if (have) {
            # Some of MPICH's functions are macros as well.
            print "#undef " name "\n#undef P" name
            print "#define HAVE_" name " 1"
            continue
        }
        if (name in defined) continue
        names = arguments(parameters)
        if (names == "?") {
            print "wrappers.awk: " name " is not counted: a parameter has no name" > "/dev/stderr"
            continue
        }
        if (before == "void") continue
        if (name in number)
            print "NUMBERED(" number[name] ", " before ", " name ", (" parameters "), (" names "))"
        else
            print "UNNUMBERED(" unnumbered++ ", " before ", " name ", (" parameters "), (" names "))"
    }
    if (!have) {
        print "#ifdef NO_NUMBERED\n#undef NUMBERED\n#undef NO_NUMBERED\n#endif"
        print "#ifdef NO_UNNUMBERED\n#undef UNNUMBERED\n#undef NO_UNNUMBERED\n#endif"
    }
}
