//! Self-contained pages.

use std::fs;

use tollgate_report::page::{
    CellRole, PageBlock, PageCell, PageFigure, PageSection, PageTable, ReportPage,
};
use tollgate_report::{AxisExtent, ChartAxis, LineChart, write};
use tollgate_study::chart::AxisSpacing;

const MARKUP: &str = "<script>alert(\"1 & 2\")</script>";

fn figure(name: &str) -> PageFigure {
    let axis = |label: &str| ChartAxis {
        label: label.to_owned(),
        unit: None,
        spacing: AxisSpacing::Linear,
        extent: AxisExtent::Fitted,
    };
    let chart = LineChart {
        title: name.to_owned(),
        x: axis("x"),
        y: axis("y"),
        series: vec![],
    };
    PageFigure::new(name, chart.to_svg())
}

fn page(title: &str) -> ReportPage {
    let table = PageTable {
        caption: title.to_owned(),
        head: vec![
            PageCell::text("claim"),
            PageCell::number("measured"),
            PageCell::text("verdict"),
        ],
        rows: vec![vec![
            PageCell::text(title),
            PageCell::number("0.5"),
            PageCell::of(CellRole::Bad, "fails"),
        ]],
    };
    ReportPage {
        title: title.to_owned(),
        lead: title.to_owned(),
        sections: vec![
            PageSection {
                heading: title.to_owned(),
                blocks: vec![
                    PageBlock::Heading {
                        heading: title.to_owned(),
                    },
                    PageBlock::Text {
                        text: title.to_owned(),
                    },
                    PageBlock::Table(table),
                ],
            },
            PageSection {
                heading: "Pictures".to_owned(),
                blocks: vec![
                    PageBlock::Figures {
                        figures: vec![figure("one")],
                    },
                    PageBlock::Folded {
                        heading: title.to_owned(),
                        figures: vec![figure("two"), figure("one")],
                    },
                ],
            },
        ],
    }
}

#[test]
fn a_small_page() {
    let html = page("A study").to_html();
    assert_eq!(html, page("A study").to_html());
    let (_, body) = html.split_once("</style>").expect("a style sheet");
    insta::assert_snapshot!(body);
}

#[test]
fn page_is_self_contained() {
    let html = page("A study").to_html();
    let addresses = html.matches("http").count();
    assert_eq!(
        addresses,
        html.matches("xmlns=\"http://www.w3.org/2000/svg\"").count()
    );
    for word in ["src=", "@import", "url(", "<link", "<script"] {
        assert!(!html.contains(word), "{word}");
    }
}

#[test]
fn markup_in_text_is_escaped() {
    let html = page(MARKUP).to_html();
    assert!(!html.contains("<script"));
    assert_eq!(html.matches("&lt;script&gt;").count(), 10);
}

#[test]
fn figure_name_cannot_escape_its_directory() {
    assert_eq!(
        PageFigure::new("../a/b\\c:é", String::new()).name(),
        "..-a-b-c--"
    );
}

#[test]
fn figures_are_written_next_to_the_page() {
    let place = std::path::Path::new(concat!(
        env!("CARGO_TARGET_TMPDIR"),
        "/",
        env!("CARGO_PKG_NAME")
    ))
    .join("pages");
    write::write(&page("A study"), &place).unwrap();
    let html = fs::read_to_string(place.join(write::PAGE_FILE)).unwrap();
    assert_eq!(html, page("A study").to_html());
    let mut names: Vec<_> = fs::read_dir(place.join(write::PICTURES_DIR))
        .unwrap()
        .map(|file| file.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    assert_eq!(names, ["one.png", "one.svg", "two.png", "two.svg"]);
    assert_eq!(
        fs::read_to_string(place.join("figures/one.svg")).unwrap(),
        figure("one").svg()
    );
}

#[test]
fn error_names_a_directory_that_cannot_be_created() {
    let file = std::path::Path::new(concat!(
        env!("CARGO_TARGET_TMPDIR"),
        "/",
        env!("CARGO_PKG_NAME")
    ))
    .join("in-the-way");
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    fs::write(&file, "").unwrap();
    let error = write::write(&page("A study"), &file)
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("in-the-way") && error.contains("cannot be written"),
        "{error}"
    );
}
