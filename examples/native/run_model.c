/* Runs a model file and prints its outputs: run_model machine.dalm [end, s] [number of rows] */
#include "dalembert.h"
#include <stdio.h>
#include <stdlib.h>

static void *read_file(const char *path, size_t *size) {
  FILE *file = fopen(path, "rb");
  void *bytes = NULL;
  long length = -1;
  if (file && fseek(file, 0, SEEK_END) == 0)
    length = ftell(file);
  if (length > 0 && fseek(file, 0, SEEK_SET) == 0 && (bytes = malloc((size_t)length)))
    *size = fread(bytes, 1, (size_t)length, file);
  if (file)
    fclose(file);
  return bytes;
}

int main(int count, char **arguments) {
  size_t size = 0;
  void *bytes = count > 1 ? read_file(arguments[1], &size) : NULL;
  const double end = count > 2 ? atof(arguments[2]) : 1.0;
  const int rows = count > 3 ? atoi(arguments[3]) : 10;
  char text[256];
  dal_model *model = NULL;
  dal_run *run = NULL;
  double *values;
  int64_t outputs, k;
  int row, code;
  if (!bytes) {
    fprintf(stderr, "usage: run_model machine.dalm [end] [rows]\n");
    return 2;
  }
  code = dal_open(bytes, size, &model, text, sizeof text);
  free(bytes);
  if (code != DAL_OK) {
    fprintf(stderr, "%s: %s\n", arguments[1], text);
    return 1;
  }
  outputs = dal_count(model, DAL_OUTPUT);
  values = malloc(sizeof *values * (size_t)(outputs + 1));
  printf("t");
  for (k = 0; k < outputs; ++k)
    printf(",%s", dal_name(model, DAL_OUTPUT, k));
  printf("\n");
  code = dal_run_new(model, NULL, &run);
  if (code == DAL_OK)
    code = dal_start(run, dal_start_time(model));
  for (row = 0; row <= rows && code == DAL_OK; ++row) {
    code = dal_advance(run, dal_start_time(model) + end * row / rows);
    if (code == DAL_OK)
      code = dal_read(run, DAL_OUTPUT, values);
    if (code != DAL_OK)
      break;
    printf("%.17g", dal_time(run));
    for (k = 0; k < outputs; ++k)
      printf(",%.17g", values[k]);
    printf("\n");
  }
  if (code != DAL_OK)
    fprintf(stderr, "%s\n", dal_message(run));
  free(values);
  dal_run_free(run);
  dal_close(model);
  return code == DAL_OK ? 0 : 1;
}
