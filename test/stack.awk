# Reads the call graph that GCC writes with -fcallgraph-info=su,da. Prints the largest stack that each public function,
# and each task, can need. Also prints functions
# without a bound, and functions that call themselves.
#
# -v nested="NAME=COUNT ..." lists the functions that may call themselves, and the largest number of nested calls.
#
# -v outside="NAME ..." lists the functions that call back into the user's program through pointers.
#
# Calls through pointers only go to functions of a higher rank (rank_of): a public function calls the backend table, the
# backend calls features, features run tasks, tasks run parts and pieces, and these call functions of an instruction
# set. Callbacks and functions of the C library are not included.

BEGIN {
    n = split(outside, list, " ")
    for (i = 1; i <= n; i++)
        callers_only[list[i]] = 1
    n = split(nested, list, " ")
    for (i = 1; i <= n; i++) {
        split(list[i], part, "=")
        levels[part[1]] = part[2]
    }
}

function short(title) {
    sub(/.*:/, "", title)
    return title
}

function rank_of(name) {
    return !points[name] ? 6 : name ~ /_(avx2|avx512|neon|scalar|lanes)/ ? 5 : name ~ /_(part|piece)$/ ? 4 : \
           name ~ /_(task|tasks)$/ || name ~ /work/ ? 3 : name ~ /^vmafgpu__cpu_/ ? 1 : 2
}

# Sets points[name] if a function, or one that it calls directly, makes calls through pointers.
function mark(name, i, n, list) {
    if (name in marked)
        return points[name]
    marked[name] = 1
    n = split(calls[name], list, " ")
    for (i = 1; i <= n; i++)
        if (list[i] == "__indirect_call" || mark(list[i]))
            points[name] = 1
    return points[name]
}

# Returns the stack of a call of `name`. The last call through a pointer was to a function of this rank.
function depth(name, rank, i, n, list, most, own) {
    if ((name, rank) in known)
        return known[name, rank]
    if (name == "__indirect_call") {
        for (i = rank + 1; i <= 6; i++)
            for (n = 1; n <= count[i]; n++) {
                own = depth(target[i, n], i)
                most = own > most ? own : most
            }
        return known[name, rank] = most + 0
    }
    if (name in busy) {
        print "recursion", name
        return 0
    }
    busy[name] = 1
    n = split(calls[name], list, " ")
    for (i = 1; i <= n; i++) {
        own = depth(list[i], rank)
        most = own > most ? own : most
    }
    delete busy[name]
    return known[name, rank] = (stack[name] + 8) * (name in levels ? levels[name] : 1) + most # 8: the return address
}

/^node:/ {
    split($0, part, "\"")
    name = short(part[2])
    if (match(part[4], /[0-9]+ bytes \([a-z,]*\)/)) {
        text = substr(part[4], RSTART, RLENGTH)
        stack[name] = text + 0
        if (text ~ /\(dynamic\)/) {
            print "unbounded", name
        }
    }
}
/^edge:/ {
    split($0, part, "\"")
    from = short(part[2])
    to = short(part[4])
    if (!((from, to) in seen) && !(to == "__indirect_call" && from in callers_only)) {
        seen[from, to] = 1
        calls[from] = calls[from] " " to
        called[to] = 1
    }
}
END {
    for (name in stack)
        mark(name)
    for (name in stack)
        if (!(name in called) && name !~ /^vmafgpu_[a-z]/) {
            r = rank_of(name)
            target[r, ++count[r]] = name
        }
    for (name in stack)
        if (name ~ /^vmafgpu_[a-z]/) {
            print "call", name, depth(name, 0)
        } else if (!(name in called) && rank_of(name) >= 3 && rank_of(name) < 5) {
            print "task", name, depth(name, rank_of(name))
        }
}
