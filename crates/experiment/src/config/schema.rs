//! All settings of an experiment's file, as a JSON Schema of the types that read them.

mod bare;
mod documentation;
mod file;
mod flags;
mod numbers;

use schemars::generate::SchemaSettings;
use schemars::transform::{Transform, transform_subschemas};
use serde_json::Value;

use crate::config::run_config::RunConfig;
use crate::config::sweep;

/// The JSON Schema (draft 2020-12) of an experiment's file: every key with its type, default and documentation.
///
/// It is made from the types that read the file, so it says of each value what they do: the choices, the keys, which of them
/// must be there, and the defaults of the others. `unit` names what a number counts or measures. What depends on several
/// values, such as a degree below the number of clients, only [`plan()`](crate::plan()) checks. Keys of parts of a program's own
/// are not described.
///
/// ```
/// let schema = meshfold_experiment::settings_schema();
/// let rounds = &schema["properties"]["rounds"];
/// assert_eq!(rounds["type"], "integer");
/// assert_eq!(rounds["description"], "Communication rounds.");
/// ```
pub fn settings_schema() -> Value {
    let mut generator = SchemaSettings::draft2020_12().into_generator();
    let sweep = generator.subschema_for::<Option<sweep::Keys>>();
    let mut schema = generator.into_root_schema_for::<RunConfig>();
    file::describe(&mut schema, sweep);
    bare::allow(&mut schema);
    Everywhere.transform(&mut schema);
    schema.into()
}

/// What is changed in every part of the schema.
struct Everywhere;

impl Transform for Everywhere {
    fn transform(&mut self, schema: &mut schemars::Schema) {
        documentation::tidy(schema);
        flags::complete(schema);
        numbers::tidy(schema);
        transform_subschemas(self, schema);
    }
}
