//! The program `meshfold`: decentralized federated learning from a YAML file to accuracy curves.

use std::process::ExitCode;

fn main() -> ExitCode {
    meshfold::program(meshfold::Own::new())
}
