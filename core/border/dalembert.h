/* Models of dalembert in C: read from a model file, advanced in time, read and written.
 *
 * A dal_model is constant and may be shared by threads; a dal_run belongs to one thread at a time. Functions that can
 * fail return a dal_code, and dal_message tells why the last call of a run has failed. All numbers are in SI units and
 * radians. Nothing is thrown, and nothing is printed.
 *
 *     dal_open(bytes, size, &model, text, sizeof text);
 *     dal_run_new(model, NULL, &run);
 *     dal_start(run, 0.0);
 *     while (dal_time(run) < 1.0) {
 *       dal_set(run, DAL_INPUT, motor, torque);
 *       dal_advance(run, dal_time(run) + 0.01);
 *       dal_get(run, DAL_OUTPUT, angle, &value);
 *     }
 *
 * Model files are written by da.export(system, "machine.dalm") in Python.
 */
#ifndef DALEMBERT_H
#define DALEMBERT_H

#include <stddef.h>
#include <stdint.h>

#if defined(_WIN32) || !defined(DALEMBERT_SHARED)
#define DAL_API
#else
#define DAL_API __attribute__((visibility("default")))
#endif

#ifdef __cplusplus
#define DAL_NOEXCEPT noexcept
extern "C" {
#else
#define DAL_NOEXCEPT
#endif

typedef struct dal_model dal_model;
typedef struct dal_run dal_run;

typedef enum dal_code {
  DAL_OK = 0,
  DAL_PAUSED = 1,       /* max_steps were taken before the requested time */
  DAL_BAD_FILE = -1,    /* the bytes are no model file, or damaged */
  DAL_BAD_VERSION = -2, /* the file needs a later version of this library */
  DAL_BAD_NAME = -3,    /* there is no such quantity */
  DAL_BAD_VALUE = -4,   /* a value is not finite, or out of range */
  DAL_BAD_CALL = -5,    /* the call is not possible now */
  DAL_NO_MEMORY = -6,
  DAL_UNDERFLOW = -10,  /* no step is small enough */
  DAL_NOT_FINITE = -11, /* accelerations are not finite */
  DAL_APART = -12,      /* loops cannot be closed */
  DAL_UNSOLVED = -13,   /* an implicit step, or modes of friction and stops, have no solution */
  DAL_CRAWLS = -14,     /* steps have become so short that the end is out of reach */
  DAL_BEYOND = -15      /* times of jumps are not known so far ahead: export with a later horizon */
} dal_code;

typedef enum dal_kind {
  DAL_COORDINATE, /* q; set before the start only */
  DAL_SPEED,      /* v; set before the start only */
  DAL_STATE,      /* states of force elements; set before the start only */
  DAL_PARAMETER,  /* those of elements at any time; masses, lengths and places before the start only */
  DAL_INPUT,      /* held until it is set again */
  DAL_OUTPUT,     /* read only */
  DAL_EVENT       /* values of switching functions of force elements; read only */
} dal_kind;

typedef struct dal_options {
  size_t size;        /* sizeof(dal_options) */
  int32_t method;     /* number of the method (dal_method_name), or -1 for that of the file */
  double rtol;        /* relative tolerance; 0: that of the file */
  double atol_factor; /* of the absolute tolerances of the file */
  double max_step;    /* s; 0: that of the file */
  double fixed_step;  /* s; 0: step control, or the length in the file */
  int64_t max_steps;  /* of one dal_advance */
} dal_options;

typedef struct dal_counts {
  size_t size; /* sizeof(dal_counts) */
  int64_t steps, rejected, evaluations, jacobians, factorizations, projections;
} dal_counts;

/* ---- library */
DAL_API const char *dal_version(void) DAL_NOEXCEPT;
DAL_API const char *dal_instruction_set(void) DAL_NOEXCEPT; /* NULL: this processor is not supported */
DAL_API const char *dal_method_name(int32_t method) DAL_NOEXCEPT; /* NULL beyond the last */

/* ---- models */
/* Reads a model file from memory; the bytes are not kept. text (room characters) receives the message of a failure. */
DAL_API int dal_open(const void *bytes, size_t size, dal_model **model, char *text, size_t room) DAL_NOEXCEPT;
DAL_API void dal_close(dal_model *model) DAL_NOEXCEPT; /* runs of it stay valid */
DAL_API int64_t dal_count(const dal_model *model, dal_kind kind) DAL_NOEXCEPT;
DAL_API const char *dal_name(const dal_model *model, dal_kind kind, int64_t index) DAL_NOEXCEPT;
DAL_API const char *dal_unit(const dal_model *model, dal_kind kind, int64_t index) DAL_NOEXCEPT;
DAL_API const char *dal_meaning(const dal_model *model, dal_kind kind, int64_t index) DAL_NOEXCEPT;
DAL_API int64_t dal_find(const dal_model *model, dal_kind kind, const char *name) DAL_NOEXCEPT; /* -1: none */
/* Whether a quantity may be set while a run is under way: inputs, and parameters of elements. */
DAL_API int dal_is_tunable(const dal_model *model, dal_kind kind, int64_t index) DAL_NOEXCEPT;
DAL_API double dal_start_time(const dal_model *model) DAL_NOEXCEPT;
/* Checksum of the file, which identifies the model. */
DAL_API uint64_t dal_checksum(const dal_model *model) DAL_NOEXCEPT;

/* ---- runs */
DAL_API void dal_options_of(const dal_model *model, dal_options *options) DAL_NOEXCEPT;
DAL_API int dal_run_new(dal_model *model, const dal_options *options, dal_run **run) DAL_NOEXCEPT;
DAL_API void dal_run_free(dal_run *run) DAL_NOEXCEPT;
DAL_API const char *dal_message(const dal_run *run) DAL_NOEXCEPT;

DAL_API int dal_set(dal_run *run, dal_kind kind, int64_t index, double value) DAL_NOEXCEPT;
DAL_API int dal_get(dal_run *run, dal_kind kind, int64_t index, double *value) DAL_NOEXCEPT;
/* All values of a kind, dal_count numbers. */
DAL_API int dal_read(dal_run *run, dal_kind kind, double *values) DAL_NOEXCEPT;
DAL_API int dal_write(dal_run *run, dal_kind kind, const double *values) DAL_NOEXCEPT;

/* Starts, or starts again, with the values that are set: drives are imposed and loops are closed. */
DAL_API int dal_start(dal_run *run, double t) DAL_NOEXCEPT;
DAL_API int dal_is_started(const dal_run *run) DAL_NOEXCEPT;
/* The values and parameters of the file again; the next call is dal_start. */
DAL_API int dal_reset(dal_run *run) DAL_NOEXCEPT;
/* Advances to a time, s. DAL_OK: dal_time is equal to it. After a failure the state is that of the last step. */
DAL_API int dal_advance(dal_run *run, double until) DAL_NOEXCEPT;
DAL_API double dal_time(const dal_run *run) DAL_NOEXCEPT;
DAL_API const char *dal_method(const dal_run *run) DAL_NOEXCEPT; /* stiff runs change to radau */
DAL_API void dal_counts_of(const dal_run *run, dal_counts *counts) DAL_NOEXCEPT;

/* The whole state of a run, as bytes for this build of the library: continued runs have the same bits. */
DAL_API size_t dal_state_bytes(const dal_run *run) DAL_NOEXCEPT;
DAL_API int dal_state_get(const dal_run *run, void *bytes, size_t size) DAL_NOEXCEPT;
DAL_API int dal_state_set(dal_run *run, const void *bytes, size_t size) DAL_NOEXCEPT;

/* ---- for callers that integrate themselves; not with friction or stops */
/* Sets time and state of a started run: q, v, x. */
DAL_API int dal_put(dal_run *run, double t, const double *q, const double *v, const double *x) DAL_NOEXCEPT;
/* Accelerations a (nv), rates of element states dx (nx) and rates of coordinates dq (nq) there; NULL: not wanted. */
DAL_API int dal_derivatives(dal_run *run, double *dq, double *a, double *dx) DAL_NOEXCEPT;
/* Moves the state there onto loops and drives; q, v, x receive it, NULL: not wanted. */
DAL_API int dal_project(dal_run *run, double *q, double *v, double *x) DAL_NOEXCEPT;
/* Largest violation of loops and drives at the state there: positions and rates, in units of the system's size. */
DAL_API int dal_drift(dal_run *run, double *positions, double *rates) DAL_NOEXCEPT;
/* Accelerations (n, nv) at n states (n, nq), (n, nv), with joint forces tau (n, nv) or NULL, in SIMD batches. */
DAL_API int dal_motion_many(dal_run *run, int64_t n, const double *q, const double *v, const double *tau,
                            double *a) DAL_NOEXCEPT;

#ifdef __cplusplus
}
#endif

#endif
