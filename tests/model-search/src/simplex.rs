//! The search for the constants of exponential smoothing (Nelder & Mead 1965).

use crate::auto_ets::EtsForm;
use crate::ets_loss;

/// Number of moves of the simplex.
const MOVES: usize = 60;

/// A point of the unit cube, and its loss.
pub(crate) type SearchPoint = ([f64; 3], f64);

/// The search of one form. It asks for the losses of two points at a time, so that several searches
/// can be computed side by side; of a single point it asks twice.
#[derive(Clone, Debug)]
pub(crate) struct SimplexSearch {
    form: EtsForm,
    /// The corners; only the searched axes move, and only the first `n_free` + 1 corners count.
    corners: [SearchPoint; 4],
    /// The corners before the present move, best first.
    before: [SearchPoint; 4],
    moves: usize,
    step: SearchStep,
}

/// The losses that a search waits for.
#[derive(Clone, Copy, Debug)]
enum SearchStep {
    /// Those of the corners from this one on.
    Corners(usize),
    /// Those of the worst corner reflected at the centre of the others, and moved halfway there.
    Move([[f64; 3]; 2]),
    /// That of a point beyond the reflected one, which is better than all corners.
    Expansion([f64; 3], SearchPoint),
    /// None: the search is over.
    Done,
}

/// Runs searches to their ends, and returns the best point of each. `L` is twice `S`. Without
/// `TRENDING` all forms are [`EtsForm::Level`], with it none.
pub(crate) fn run<const S: usize, const L: usize, const TRENDING: bool>(
    values: &[f64],
    mut searches: [SimplexSearch; S],
) -> [SearchPoint; S] {
    while searches.iter().any(|search| !search.is_done()) {
        let start = searches.each_ref().map(SimplexSearch::constants);
        let constants = std::array::from_fn(|i| start[i / 2][i % 2]);
        let losses: [f64; L] = ets_loss::losses::<L, TRENDING>(values, constants);
        for (search, losses) in searches.iter_mut().zip(losses.as_chunks().0) {
            search.learn(*losses);
        }
    }
    searches.map(|search| search.corners[0])
}

/// Runs the search of [`EtsForm::Level`] and those of the forms with a trend to their ends, and returns the
/// best point of each.
pub(crate) fn run_all(
    values: &[f64],
    mut level: SimplexSearch,
    mut trends: [SimplexSearch; 2],
) -> (SearchPoint, [SearchPoint; 2]) {
    while !level.is_done() && trends.iter().any(|search| !search.is_done()) {
        let [[a, b], [c, d]] = trends.each_ref().map(SimplexSearch::constants);
        let (losses, trends_losses) =
            ets_loss::losses_of_both(values, level.constants(), [a, b, c, d]);
        level.learn(losses);
        for (search, losses) in trends.iter_mut().zip(trends_losses.as_chunks().0) {
            search.learn(*losses);
        }
    }
    let [level] = run::<1, 2, false>(values, [level]);
    (level, run::<2, 4, true>(values, trends))
}

impl SimplexSearch {
    /// Begins a search around `start`.
    pub(crate) fn new(form: EtsForm, start: SearchPoint) -> Self {
        let mut corners = [start; 4];
        for (axis, (point, _)) in corners[1..=form.n_free()].iter_mut().enumerate() {
            point[axis] += if point[axis] > 0.8 { -0.1 } else { 0.1 };
        }
        Self {
            form,
            corners,
            before: [([f64::NAN; 3], f64::NAN); 4],
            moves: 0,
            step: SearchStep::Corners(1),
        }
    }

    const fn is_done(&self) -> bool {
        matches!(self.step, SearchStep::Done)
    }

    /// Returns the points whose losses [`Self::learn`] wants.
    fn next_points(&self) -> [[f64; 3]; 2] {
        match self.step {
            SearchStep::Corners(first) => {
                [first, (first + 1).min(self.form.n_free())].map(|at| self.corners[at].0)
            }
            SearchStep::Move(points) => points,
            SearchStep::Expansion(point, _) => [point; 2],
            SearchStep::Done => [self.corners[0].0; 2],
        }
    }

    /// Returns the constants whose losses [`Self::learn`] wants.
    fn constants(&self) -> [[f64; 3]; 2] {
        self.next_points().map(|point| self.form.constants(point))
    }

    /// Learns the losses of the points of [`Self::next_points`].
    fn learn(&mut self, losses: [f64; 2]) {
        let n_free = self.form.n_free();
        match self.step {
            SearchStep::Corners(first) => {
                for (corner, loss) in self.corners[first..=n_free].iter_mut().zip(losses) {
                    corner.1 = loss;
                }
                match first + 2 {
                    next if next <= n_free => self.step = SearchStep::Corners(next),
                    _ => self.begin_move(),
                }
            }
            SearchStep::Move(points) => {
                let [reflected, contracted] = [0, 1].map(|i| (points[i], losses[i]));
                if reflected.1 < self.corners[0].1 {
                    let point = along(self.corners[n_free].0, self.centre(), 3.0);
                    self.step = SearchStep::Expansion(point, reflected);
                } else if reflected.1 < self.corners[n_free - 1].1 {
                    self.replace_worst(reflected);
                } else {
                    self.replace_worst(contracted);
                }
            }
            SearchStep::Expansion(point, reflected) => {
                let expanded = (point, losses[0]);
                let better = expanded.1 < reflected.1;
                self.replace_worst(if better { expanded } else { reflected });
            }
            SearchStep::Done => {}
        }
    }

    /// Puts a point in the place of the worst corner. If it is no better, all corners but the first move
    /// halfway to the first.
    fn replace_worst(&mut self, point: SearchPoint) {
        let n_free = self.form.n_free();
        let worst = self.corners[n_free].1;
        self.corners[n_free] = point;
        if point.1 >= worst {
            let best = self.corners[0].0;
            for corner in &mut self.corners[1..=n_free] {
                corner.0 = along(corner.0, best, 0.5);
            }
            self.step = SearchStep::Corners(1);
        } else {
            self.begin_move();
        }
    }

    /// Begins the next move. If the last one changed nothing, neither would any further one.
    fn begin_move(&mut self) {
        let n_free = self.form.n_free();
        self.corners[..=n_free].sort_by(|a, b| a.1.total_cmp(&b.1));
        if self.moves == MOVES || self.corners[..=n_free] == self.before[..=n_free] {
            self.step = SearchStep::Done;
            return;
        }
        self.before = self.corners;
        self.moves += 1;
        let (worst, centre) = (self.corners[n_free].0, self.centre());
        // Two losses take hardly longer than one, and mostly one of these two points is taken.
        self.step = SearchStep::Move([2.0, 0.5].map(|part| along(worst, centre, part)));
    }

    /// Returns the centre of all corners but the worst.
    fn centre(&self) -> [f64; 3] {
        let n_free = self.form.n_free();
        let mut centre = [0.0; 3];
        for (point, _) in &self.corners[..n_free] {
            for (c, x) in centre.iter_mut().zip(point) {
                *c += x / n_free as f64;
            }
        }
        centre
    }
}

/// Returns the point at `part` of the way between two points, within the unit cube.
fn along(from: [f64; 3], to: [f64; 3], part: f64) -> [f64; 3] {
    std::array::from_fn(|i| (from[i] + part * (to[i] - from[i])).clamp(0.0, 1.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const TRENDS: [EtsForm; 2] = [EtsForm::Trend, EtsForm::Damped];
    /// No corners: no move leaves them as they are.
    const NONE: [SearchPoint; 4] = [([f64::NAN; 3], f64::NAN); 4];

    /// Searches alone, with every move, also those that change nothing.
    fn search_alone<const TRENDING: bool>(values: &[f64], form: EtsForm) -> SearchPoint {
        let mut search = form.search(values);
        while !search.is_done() {
            let constants = search.next_points().map(|point| form.constants(point));
            search.before = NONE;
            search.learn(ets_loss::losses::<2, TRENDING>(values, constants));
        }
        assert_eq!(search.moves, MOVES);
        search.corners[0]
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(40))]

        #[test]
        fn searches_side_by_side_agree_with_single_searches(
            values in prop::collection::vec(0.0..9.0f64, 10..60),
            is_rounded: bool,
        ) {
            let rounded = |value: f64| if is_rounded { (value / 4.0).round() } else { value };
            let values: Vec<f64> = values.into_iter().map(rounded).collect();
            let search = |form: EtsForm| form.search(&values);
            let (level, found) = run_all(&values, search(EtsForm::Level), TRENDS.map(search));
            prop_assert_eq!(level, search_alone::<false>(&values, EtsForm::Level));
            prop_assert_eq!(run::<2, 4, true>(&values, TRENDS.map(search)), found);
            for (form, found) in TRENDS.into_iter().zip(found) {
                prop_assert_eq!(found, search_alone::<true>(&values, form));
            }
            for (form, (point, loss)) in [(EtsForm::Level, level), (TRENDS[0], found[0]), (TRENDS[1], found[1])] {
                prop_assert_eq!(form.model(&values, point).smooth(&values).0, loss);
            }
        }
    }
}
