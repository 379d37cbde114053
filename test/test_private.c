/* Functions that no caller sees; here the implementation is private to this file. */
#define VMAFGPU_STATIC
#define VMAFGPU_IMPLEMENTATION
#include "scoring.h"

/* VIF's table of logarithms: 2048 * log2(m) for m = 32768..65535, as single precision rounds it. Its checksum and some
 * entries, among them the first that plain double precision would give otherwise. */
static void test_log_table(void) {
    static uint16_t table[32768];
    uint64_t hash = 1469598103934665603u, sum = 0; /* FNV-1a, from this start */
    vmafgpu__log_table(table);
    for (int i = 0; i < 32768; i++) {
        for (int byte = 0; byte < 2; byte++) {
            hash = (hash ^ ((table[i] >> (8 * byte)) & 255u)) * 0x100000001b3u;
        }
        sum += table[i];
        CHECK(i == 0 || table[i] == table[i - 1] || table[i] == table[i - 1] + 1);
    }
    CHECK(hash == 0xd706fa56cbf9601bu);
    CHECK_INT(sum, 1044032097);
    CHECK_INT(table[0], 30720);
    CHECK_INT(table[33108 - 32768], 30751);
    CHECK_INT(table[49152 - 32768], 31918);
    CHECK_INT(table[32767], 32768);
}

/* The integer sums themselves, which no C library has a hand in: the same on every system. */
static const vmafgpu__backend_table *collected_from;
static uint64_t collected;

static void collect_number(int64_t value) {
    for (int byte = 0; byte < 8; byte++) {
        collected = (collected ^ (((uint64_t)value >> (8 * byte)) & 255u)) * 0x100000001b3u;
    }
}

static vmafgpu_result collect(vmafgpu *v, vmafgpu__patience patience, vmafgpu__sums *sums) {
    vmafgpu_result result = collected_from->collect(v, patience, sums);
    for (int i = 0; result == VMAFGPU_OK && i < 2; i++) {
        collect_number(sums->motion[i]);
    }
    for (int s = 0; result == VMAFGPU_OK && s < VMAFGPU__SCALES; s++) {
        collect_number(sums->vif[s].denominator);
        collect_number(sums->vif[s].flat_noise);
        collect_number(sums->vif[s].flat_count);
        for (int i = 0; i < v->plan.vif_variants; i++) {
            collect_number(sums->vif[s].numerator[i]);
        }
        for (int b = 0; b < VMAFGPU__BANDS; b++) {
            collect_number(sums->adm[s].denominator[b]);
            for (int i = 0; i < v->plan.adm_variants; i++) {
                collect_number(sums->adm[s].numerator[i][b]);
                collect_number(sums->adm[s].impairment[i][b]);
            }
        }
    }
    return result;
}

static void test_sums(void) {
    static const struct {
        const char *what;
        int         width, height, depth;
        uint64_t    sums;
    } films[] = {
        {"texture+mix", 96, 80, 8, 0xfa6f86bc137de110u},
        {"texture+blur", 333, 217, 8, 0x4526322a6df53fabu},
        {"blocks+stretch", 176, 144, 8, 0x4bb113af9446ae8cu},
        {"noise+grain", 101, 67, 10, 0x460912424fca5a6du},
        {"blocks+invert", 130, 70, 12, 0x227f0aa0b6ba4b6au},
        {"texture+mix", 64, 48, 16, 0xc0b927a203124d88u},
    };
    static const vmafgpu_model_config models[] = {{"vmaf_v0.6.1", NULL, "plain", 0, 0, NULL},
                                                  {"vmaf_v0.6.1neg", NULL, "neg", 0, 0, NULL}};
    static const vmafgpu_feature_config five = {"motion", "motion_five_frame_window=true"};
    for (size_t i = 0; i < 2 * (sizeof films / sizeof films[0]); i++) {
        film f = film_make(films[i / 2].what, films[i / 2].width, films[i / 2].height, films[i / 2].depth, 4, 9);
        vmafgpu_config config = film_config(&f);
        vmafgpu__backend_table spy;
        vmafgpu *v;
        config.backend = VMAFGPU_BACKEND_CPU;
        config.models = models;
        config.model_count = 2;
        config.features = &five;
        config.feature_count = 1;
        config.threads = i % 2 ? 3 : 1;
        config.cpumask = i % 2 ? 0 : 255;
        snprintf(test_where, sizeof test_where, "%s, %d threads", films[i / 2].what, config.threads);
        v = open_checked(&config);
        if (v) {
            collected = 1469598103934665603u;
            collected_from = v->backend;
            spy = *v->backend;
            spy.collect = collect;
            v->backend = &spy;
            for (int frame = 0; frame < f.clip.frames; frame++) {
                CHECK_INT(film_push(&f, v, frame), VMAFGPU_OK);
            }
            CHECK_INT(vmafgpu_flush(v), VMAFGPU_OK);
            CHECK(collected == films[i / 2].sums);
            vmafgpu_close(v);
        }
        film_free(&f);
    }
}

int main(void) {
    test_log_table();
    test_sums();
    return test_end();
}
