# Prints a CSV report of the tool as a table: the features of vmaf_v0.6.1 and the score.
NR == 1 {
    count = split("Frame integer_adm2 integer_motion2 integer_vif_scale0 integer_vif_scale1 integer_vif_scale2 " \
                  "integer_vif_scale3 vmaf", wanted, " ")
    for (i = 1; i <= NF; i++) {
        at[$i] = i
    }
    for (i = 1; i <= count; i++) {
        title = wanted[i]
        sub(/^integer_/, "", title)
        sub(/^Frame$/, "frame", title)
        printf i == 1 ? "%5s" : "%12s", title
    }
    printf "\n"
    next
}
{
    for (i = 1; i <= count; i++) {
        printf i == 1 ? "%5s" : "%12s", $(at[wanted[i]])
    }
    printf "\n"
}
