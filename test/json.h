/* A strict parser of JSON (RFC 8259) for tests. It accepts a string only if the string is a single JSON value without a
 * byte order mark, in valid UTF-8, with no key twice in an object. It supports whole numbers only, because the library
 * writes no others. */
#ifndef JSON_H
#define JSON_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static inline const char *json_space(const char *at) {
    return at + strspn(at, " \t\r\n");
}

/* Returns the length of a character in UTF-8, or 0 if it is invalid. */
static inline int json_utf8(const char *text) {
    const unsigned char *t = (const unsigned char *)text;
    uint32_t value = t[0];
    int length = t[0] < 0x80             ? 1
                 : (t[0] & 0xe0) == 0xc0 ? 2
                 : (t[0] & 0xf0) == 0xe0 ? 3
                 : (t[0] & 0xf8) == 0xf0 ? 4
                                         : 0;
    static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
    value &= length > 1 ? 0xffu >> (length + 1) : 0x7f;
    for (int i = 1; i < length; i++) {
        if ((t[i] & 0xc0) != 0x80)
            return 0;
        value = value << 6 | (t[i] & 0x3f);
    }
    return length && value >= least[length] && value <= 0x10ffff && !(value >= 0xd800 && value < 0xe000) ? length : 0;
}

/* Returns the end of the string that starts at `at`, or NULL if the string is invalid. */
static inline const char *json_string_end(const char *at) {
    if (*at++ != '"')
        return NULL;
    while (*at != '"') {
        if ((unsigned char)*at < 0x20)
            return NULL;
        if (*at == '\\') {
            at++;
            if (*at == 'u') {
                if (strspn(at + 1, "0123456789abcdefABCDEF") < 4)
                    return NULL;
                at += 5;
            } else if (*at && strchr("\"\\/bfnrt", *at)) {
                at++;
            } else {
                return NULL;
            }
            continue;
        }
        if (!json_utf8(at))
            return NULL;
        at += json_utf8(at);
    }
    return at + 1;
}

/* Returns the end of the value that starts at `at`, or NULL if the value is invalid. */
static inline const char *json_value_end(const char *at, int depth) {
    enum { KEYS = 128, DEPTH = 32 };
    const char close = *at == '{' ? '}' : ']';
    const char *keys[KEYS];
    int count = 0;
    if (*at == '"')
        return json_string_end(at);
    if (*at == '-' || (*at >= '0' && *at <= '9')) {
        const size_t digits = strspn(at += *at == '-', "0123456789");
        return digits == 0 || (*at == '0' && digits > 1) || strchr(".eE", at[digits] ? at[digits] : ' ') ? NULL
                                                                                                         : at + digits;
    }
    if (strncmp(at, "true", 4) == 0 || strncmp(at, "null", 4) == 0)
        return at + 4;
    if (strncmp(at, "false", 5) == 0)
        return at + 5;
    if ((*at != '{' && *at != '[') || depth == DEPTH)
        return NULL;
    at = json_space(at + 1);
    if (*at == close)
        return at + 1;
    for (;; at = json_space(at + 1)) {
        if (close == '}') {
            const char *end = json_string_end(at);
            if (!end || count == KEYS)
                return NULL;
            for (int i = 0; i < count; i++)
                if (strncmp(keys[i], at, (size_t)(end - at)) == 0)
                    return NULL;
            keys[count++] = at;
            at = json_space(end);
            if (*at != ':')
                return NULL;
            at = json_space(at + 1);
        }
        at = json_value_end(at, depth + 1);
        if (!at)
            return NULL;
        at = json_space(at);
        if (*at == close)
            return at + 1;
        if (*at != ',')
            return NULL;
    }
}

static inline int json_is_valid(const char *text) {
    const char *end = json_value_end(json_space(text), 0);
    return end && !*json_space(end);
}

/* Returns the value at a path of keys, such as "config.gpu.batch", in a valid text; NULL if there is none. */
static inline const char *json_at(const char *text, const char *path) {
    const char *at = json_space(text);
    for (;;) {
        const size_t length = strcspn(path, ".");
        const char *found = NULL;
        if (*at != '{')
            return NULL;
        at = json_space(at + 1);
        while (*at == '"' && !found) {
            const char *end = json_string_end(at), *value = json_space(json_space(end) + 1);
            if ((size_t)(end - at) == length + 2 && strncmp(at + 1, path, length) == 0)
                found = value;
            at = json_space(json_value_end(value, 0));
            at = json_space(at + (*at == ','));
        }
        if (!found || !path[length])
            return found;
        at = found;
        path += length + 1;
    }
}

/* Returns the number at a path, or INT64_MIN if there is none. */
static inline int64_t json_whole(const char *text, const char *path) {
    const char *at = json_at(text, path);
    return at && (*at == '-' || (*at >= '0' && *at <= '9')) ? strtoll(at, NULL, 10) : INT64_MIN;
}

/* Whether the value at a path is written exactly like `value`; strings include the quotation marks. */
static inline int json_is(const char *text, const char *path, const char *value) {
    const char *at = json_at(text, path);
    return at && (size_t)(json_value_end(at, 0) - at) == strlen(value) && strncmp(at, value, strlen(value)) == 0;
}

#endif /* JSON_H */
