/* SPDX-License-Identifier: Apache-2.0 */
#ifndef UNDERLAP_H
#define UNDERLAP_H

/*
 * Analyzes traces in another program's process. The Python package calls these functions.
 *
 * Functions that return an int return the exit status of the same command: 0 success, 2 bad input, 3 failure, and 5 if
 * the caller cancelled. After a status other than 0, underlap_error() has the reason. Texts are UTF-8. A job may be used
 * by one thread at a time; different jobs by different threads.
 */

#ifdef __cplusplus
extern "C" {
#endif

struct ArrowSchema;
struct ArrowArray;

/* The traces of one job after their analysis. */
typedef struct UnderlapJob UnderlapJob;

enum { UNDERLAP_OK = 0, UNDERLAP_BAD_INPUT = 2, UNDERLAP_FAILED = 3, UNDERLAP_CANCELLED = 5 };

/* "0.1.0" */
const char* underlap_version(void);

/* Why the last call of this thread failed; valid until the next one. */
const char* underlap_error(void);

/*
 * Reads and analyzes the traces of one job, as `underlap analyze` does.
 *
 * request    JSON: {"paths": [files, folders or patterns], "mode_map": file, "steps": "NAME,A:B", "cell": name}; all
 *            but paths may be missing. A run folder with several cells needs a cell.
 * cancelled  reading ends soon after another thread stores a value other than 0 there; may be null
 * job        receives the job, which underlap_free_job() frees
 */
int underlap_load(const char* request, const int* cancelled, UnderlapJob** job);
void underlap_free_job(UnderlapJob* job);

/*
 * A text about a job, which underlap_free_text() frees.
 *
 * kind     "json": what `analyze --json` prints; "details_json": with --details; "text": what `analyze` prints; "line":
 *          one line for a log; "svg": the timeline of one step
 * options  JSON; of "svg": {"step": number of a step, or null for the median one, "width": pixels}; of "text":
 *          {"width": columns}; otherwise {}
 */
int underlap_text(UnderlapJob* job, const char* kind, const char* options, const int* cancelled, char** text);
void underlap_free_text(char* text);

/*
 * A table of a job: kernels, collectives, steps, ranks, exposure_reasons, idle or critical_path; or "by NAME" for the rows of `analyze --by NAME --csv`.
 *
 * schema, array  receive the table by the Arrow C data interface; the caller releases both
 */
int underlap_table(UnderlapJob* job, const char* name, const int* cancelled, struct ArrowSchema* schema,
                   struct ArrowArray* array);

#ifdef __cplusplus
}
#endif

#endif
