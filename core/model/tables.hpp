// Tables of a model: rows that the description fills in, and derived ones. Owns everything that
// ModelData points to.
#pragma once

#include "model/model_data.hpp"
#include <memory>
#include <vector>

namespace dalembert {

struct ProgramRows {
  std::vector<ProgramData> programs;
  std::vector<Instruction> instructions;
  std::vector<double> constants;
  std::vector<std::int32_t> outputs;
  std::vector<std::int32_t> moved; // where constants that may change stand since programs were put in order
};

struct Tables {
  // filled in, row by row (model/schema.hpp)
  std::vector<BodyData> bodies; // ground is not among them
  std::vector<JointMarkerData> markers;
  std::vector<double> armature;             // nv; none: all zero
  std::vector<double> regularizing_inertia; // nv; none: all zero
  std::vector<ModalData> modal;
  std::vector<double> modal_values;
  std::vector<LoopConstraintData> loop_constraints;
  std::vector<CouplingTermData> coupling_terms;
  std::vector<CurveData> curves;
  std::vector<CurvePiece> pieces;
  ProgramRows joints, laws_of_elements;
  std::vector<double> inner_starts;
  std::vector<std::int32_t> all_rows, independent_rows; // orders of elimination; none: as they stand
  std::vector<std::int32_t> holonomic;
  std::vector<double> row_scale, column_scale;
  std::vector<ElementData> elements;
  std::vector<SwitchingFunctionData> switching_functions; // what follows from elements
  std::vector<MonitoredElementData> monitored;
  std::vector<std::int32_t> monitor_support;
  std::vector<double> table_breaks;
  std::vector<PortData> ports;
  std::vector<InputData> inputs;
  std::vector<FeedbackData> feedbacks;
  std::vector<ActuatorData> actuators;
  std::vector<ContactPairData> contact_pairs;
  std::vector<std::shared_ptr<const void>> solids; // of contact_pairs; given apart
  std::vector<const void *> contact_solids;        // what follows from it
  std::vector<TableData> tables;
  std::vector<double> table_values;
  std::vector<DriveData> drives;
  std::vector<LawData> laws;
  std::vector<double> law_values;
  std::vector<double> parameters;        // of the elements, as described
  std::vector<double> gravity;           // 3
  std::vector<double> length;            // 1: characteristic length of the system
  std::vector<double> mapped_parameters; // mapped parameters, as described
  std::vector<MarkerMap> marker_maps;
  std::vector<FrameMap> frame_maps;
  std::vector<InertiaMap> inertia_maps;
  std::vector<PoseMap> pose_maps;
  std::vector<ScalarMap> scalar_maps;

  // what follows
  struct Order {
    std::vector<std::int32_t> row, constraint, first;
    std::vector<std::int64_t> start;
  } all, independent;
  std::vector<std::int32_t> support, tree, coordinate, coupling_index, constraint_of_row;
  std::vector<double> support_factor;
  std::vector<unsigned char> is_holonomic, is_independent;
  struct Fronts {
    std::vector<LabelData> labels;
    std::vector<LabelAtBodyData> taps;
    std::vector<LabelLinkData> links;
    std::vector<FrontData> fronts;
    std::vector<std::int32_t> unknowns, into, leaving, bodies, entries, label_of, own_tap, own_link, states_of,
        multipliers_of;
    std::vector<SourceData> sources;
    std::vector<LoadedBodyData> acted;
    std::vector<ElementAssembly> stamps;
    std::vector<LoopConstraintAssembly> loop_constraints;
  } fronts;
  struct LoopFronts {
    std::vector<LoopStepData> steps;
    std::vector<LoopPieceData> pieces;
    std::vector<std::int32_t> indices;
  } independent_loop_fronts, all_loop_fronts;
};

// The part of `complete` that plans the elimination of implicit steps (model/elimination_plan.hpp).
void complete_fronts(Tables &tables, ModelData &m);

// The part that plans the elimination of loop constraints (model/loop_plan.hpp), where they are many.
void complete_loop_plans(Tables &tables, ModelData &m);

// The tables of a model that mapped parameters have entries in.
struct VariantTables {
  std::vector<double> numbers, armature, support_factor, law_values, modal_values, joint_constants;
  std::vector<BodyData> bodies;
  std::vector<JointMarkerData> markers;
  std::vector<LoopConstraintData> loop_constraints;
  std::vector<PortData> ports;
  std::vector<DriveData> drives;
};

// The model with other mapped parameters (ParameterMaps::numbers of them): tables in `own`, everything else shared.
ModelData with_parameters(const ModelData &m, const double *numbers, VariantTables &own);

// Works out what follows, and points a model at it all. Throws std::invalid_argument where rows do not fit each other.
// The tables must not move afterwards.
ModelData complete(Tables &tables);

} // namespace dalembert
