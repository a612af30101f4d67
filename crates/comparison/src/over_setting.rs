//! The points of a figure over the values of a setting.

use meshfold_experiment::results::RecordedRun;

use crate::bars::table_request;
use crate::error::TableError;
use crate::judged::Judged;
use crate::name::Name;
use crate::only::Chosen;
use crate::plot::{PlotError, PlotRequest};
use crate::points::{Points, left_out};
use crate::setting_axis::expect_numbers;
use crate::table::{Table, judged};

impl Points {
    /// Those of a table in which the setting `x` tells rows apart, too: it is the last of `by`.
    pub(crate) fn over_setting(
        runs: &[RecordedRun],
        request: &PlotRequest,
        x: &str,
    ) -> Result<Self, PlotError> {
        let mut request = table_request(request, request.place()?);
        let mut chosen = Chosen::of(judged(runs, &request)?, &request.only)?;
        let name = chosen.name(x)?;
        let by = request.by.iter().map(|written| chosen.name(written));
        let by: Vec<Name> = by.collect::<Result<_, _>>()?;
        if let Some(same) = by.iter().find(|by| by.is_same(&name)) {
            return Err(TableError::AcrossItself {
                written: x.to_owned(),
                by: same.written.clone(),
            }
            .into());
        }
        expect_numbers(&name, &chosen.runs)?;
        let has_it = |run: &Judged| name.value(&run.fields).is_some();
        let (there, lacking) = chosen.runs.into_iter().partition(has_it);
        chosen.runs = there;
        request.by.push(x.to_owned());
        let table = Table::of_chosen(&chosen, request)?;
        let notes = left_out(&lacking, &by, &table, table.wording.name(x));
        Ok(Self {
            notes: notes.into_iter().collect(),
            table,
        })
    }
}
