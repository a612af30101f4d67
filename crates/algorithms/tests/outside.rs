//! The methods use nothing but what the crate offers to everybody: here they are compiled outside of it.

#![allow(dead_code, missing_docs, unreachable_pub)]

pub use meshfold_algorithms::*;
use meshfold_engine::Layout;
use serde_json::json;
use std::sync::Arc;

pub mod aggregation {
    pub use meshfold_algorithms::aggregation::*;
}
pub mod error {
    pub use meshfold_algorithms::AlgorithmError;
}
pub mod kept {
    pub use meshfold_algorithms::KeptStack;
}
pub mod message_scope {
    pub use meshfold_algorithms::{MessageScope, Pair};
}
pub mod method_spec {
    pub use meshfold_algorithms::{
        Holders, IterateWeighting, MethodSpec, OverlayUse, Profile, RowKind, Rows, ServerNodes,
        StragglerUnit,
    };
}
pub mod participation {
    pub use meshfold_algorithms::participation::*;
}
pub mod presence {
    pub use meshfold_algorithms::presence::*;
}
pub mod quantise {
    pub use meshfold_algorithms::quantise::*;
}
pub mod round {
    pub use meshfold_algorithms::{Algorithm, Forecast, Round, Setting, messages_over};
}
pub mod servers {
    pub use meshfold_algorithms::servers::*;
}
pub mod stragglers {
    pub use meshfold_algorithms::{Completion, Policy};
}
pub mod traffic {
    pub use meshfold_algorithms::{Exchange, Message, Phase, Traffic};
}
pub mod training {
    pub use meshfold_algorithms::training::*;
}
pub mod velocity {
    pub use meshfold_algorithms::velocity::*;
}

#[path = "../src/methods"]
mod methods {
    pub mod alone;
    pub mod centralised;
    pub mod d2;
    pub mod d_cliques;
    pub mod decefl;
    pub mod dfedavg;
    pub mod dfedrw;
    pub mod dsgd;
    pub mod fedavg;
    pub mod fedprox;
    pub mod gradient_tracking;
    pub mod hierfavg;
    pub mod one_peer;
    pub mod own_steps;
    pub mod p_fedavg;
    pub mod push_sum;
    pub mod qg_dsgdm;
    pub mod scaffold;
    pub mod swarm;
}

#[test]
fn methods_compile_outside_and_say_the_same_of_themselves() {
    let keys = json!({"batch_size": 10, "learning_rate": 0.1});
    let mut layout = Layout::default();
    layout.push("weight", 4, 2);
    layout.push("bias", 1, 2);
    let setting = Setting {
        clients: 4,
        shard_sizes: vec![30, 20, 10, 40],
        first_labels: vec![0; 4],
        seed: 1,
        rounds: 5,
        layout: Arc::new(layout),
    };
    let said = |method: &dyn MethodSpec| {
        let profile = format!("{:?}", method.profile());
        let steps = method.steps_per_round(&setting);
        (
            profile,
            method.working_rows(4),
            method.forecast(&setting, None),
            steps,
        )
    };
    macro_rules! compare {
        ($($name:ident: $config:ident,)+) => {
            $(
                let name = stringify!($name);
                let config = json!({name: keys});
                let inside: Method = serde_json::from_value(config).unwrap();
                let outside: methods::$name::$config = serde_json::from_value(keys.clone()).unwrap();
                assert_eq!(said(&outside), said(&*inside), "{name}");
            )+
        };
    }
    compare! {
        alone: Alone,
        dsgd: Dsgd,
        fedavg: Fedavg,
        gradient_tracking: GradientTracking,
        push_sum: PushSum,
        scaffold: Scaffold,
    }
}
