package main

import (
	"bytes"
	"fmt"
	"image/color"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgsvg"
)

// A figure is a grid of two by two: three panels and their legend.
const (
	figureWidth  = 12 * vg.Inch
	figureHeight = 9 * vg.Inch
	titleHeight  = 0.55 * vg.Inch
	footerHeight = 0.4 * vg.Inch
)

// plot writes a figure for each function and word to a directory, with a panel
// for each place; the warp functions share a figure, with a panel for each.
func (r *result) plot(dir string) error {
	plot.DefaultFont = font.Font{Typeface: "Liberation", Variant: "Sans"}
	for _, bits := range []int{32, 64} {
		for _, name := range functionNames[:insertWarpFn] {
			var panels []panel
			for _, place := range placeNames {
				panels = append(panels, r.panel(name, bits, place, place))
			}
			file := fmt.Sprintf("%s-u%d", strings.ToLower(name), bits)
			title := fmt.Sprintf("%s of uint%d, %s", name, bits, r.CPU)
			if err := r.figure(filepath.Join(dir, file), title, panels); err != nil {
				return err
			}
		}
		var panels []panel
		for _, name := range functionNames[insertWarpFn:] {
			panels = append(panels, r.panel(name, bits, apartPlace.String(), name))
		}
		title := fmt.Sprintf("One warp of uint%d, %s", bits, r.CPU)
		if err := r.figure(filepath.Join(dir, fmt.Sprintf("warp-u%d", bits)), title, panels); err != nil {
			return err
		}
	}
	return nil
}

// A panel is one plot: lanes a second against lanes.
type panel struct {
	title  string
	series []*series
	marks  []mark // the lengths at which the operands fill a cache
}

type mark struct {
	lanes float64
	label string
}

func (r *result) panel(name string, bits int, place, title string) panel {
	p := panel{title: title}
	for _, s := range r.Series {
		if s.Function == name && s.Bits == bits && s.Place == place {
			p.series = append(p.series, s)
		}
	}
	if len(p.series) == 0 || strings.HasSuffix(name, "Warp") {
		return p
	}
	bytes := laneBytes(name, bits, place)
	for _, c := range []struct {
		label string
		size  int
	}{{"L1", r.Caches.L1D}, {"L2", r.Caches.L2}, {"L3", r.Caches.L3}} {
		if c.size > 0 {
			p.marks = append(p.marks, mark{float64(c.size) / float64(bytes), c.label})
		}
	}
	return p
}

// laneBytes is what all operands of a function hold for each lane.
func laneBytes(name string, bits int, place string) int {
	words, counts := 0, 0 // of the word, and of uint32
	switch name {
	case "Insert":
		words = 3
	case "InsertEach":
		words, counts = 3, 2
	case "Fill", "Extract":
		words = 2
	case "Select":
		words = 4
	case "ExtractEach":
		words, counts = 2, 2
	case "Pack", "Unpack":
		words = 5
	}
	if place == inPlacePlace.String() {
		words--
	}
	return words*bits/8 + counts*4
}

// figure writes one figure as SVG and as PNG. A figure without data is left out.
func (r *result) figure(path, title string, panels []panel) error {
	var ours, others []string // contenders, in the order of the legend
	low, high := math.Inf(1), 0.0
	lanes := 1
	for _, p := range panels {
		for _, s := range p.series {
			for i, n := range s.Lanes {
				rate := float64(n) / s.Ns[i] * 1e9
				low, high = min(low, rate), max(high, rate)
				lanes = max(lanes, n)
			}
			list := &others
			if isOurs(s.Contender) {
				list = &ours
			}
			if !slices.Contains(*list, s.Contender) {
				*list = append(*list, s.Contender)
			}
		}
	}
	names := append(ours, others...)
	if len(names) == 0 {
		return nil
	}

	legend := plot.NewLegend()
	legend.Left, legend.Top = true, true
	legend.TextStyle.Font.Size = 14
	legend.ThumbnailWidth = 48
	legend.Padding = 3
	for _, name := range names {
		line, points, err := newLine(name, plotter.XYs{{X: 1, Y: 1}})
		if err != nil {
			return err
		}
		legend.Add(name, line, points)
	}
	grid := [][]*plot.Plot{{nil, nil}, {nil, nil}}
	for i, p := range panels {
		drawn, err := p.draw(low/1.3, high*2.2, lanes)
		if err != nil {
			return err
		}
		grid[i/2][i%2] = drawn
	}

	svg := vgsvg.New(figureWidth, figureHeight)
	r.drawFigure(draw.New(svg), title, grid, legend)
	var b bytes.Buffer
	if _, err := svg.WriteTo(&b); err != nil {
		return err
	}
	// Not everyone has the font; these are as wide.
	fonts := bytes.ReplaceAll(b.Bytes(), []byte("family:Liberation Sans"), []byte("family:Liberation Sans,Arial,Helvetica,sans-serif"))
	if err := os.WriteFile(path+".svg", fonts, 0o666); err != nil {
		return err
	}
	png := vgimg.PngCanvas{Canvas: vgimg.New(figureWidth, figureHeight)}
	r.drawFigure(draw.New(png), title, grid, legend)
	b.Reset()
	if _, err := png.WriteTo(&b); err != nil {
		return err
	}
	return os.WriteFile(path+".png", b.Bytes(), 0o666)
}

func (r *result) drawFigure(c draw.Canvas, title string, grid [][]*plot.Plot, legend plot.Legend) {
	c.SetColor(color.White)
	c.Fill(c.Rectangle.Path())
	style := text.Style{
		Color: color.Black, Font: font.From(plot.DefaultFont, 20),
		XAlign: draw.XCenter, YAlign: draw.YCenter, Handler: plot.DefaultTextHandler,
	}
	c.FillText(style, vg.Point{X: c.Center().X, Y: c.Max.Y - titleHeight/2}, title)
	body := draw.Crop(c, 10, -15, footerHeight, -titleHeight)
	tiles := draw.Tiles{Rows: 2, Cols: 2, PadX: 18, PadY: 18}
	cells := plot.Align(grid, tiles, body)
	for i, row := range grid {
		for j, p := range row {
			if p != nil {
				p.Draw(cells[i][j])
			}
		}
	}
	legend.Draw(draw.Crop(cells[1][1], 90, 0, 0, -20))
	footer := text.Style{
		Color: color.Gray{90}, Font: font.From(plot.DefaultFont, 11),
		XAlign: draw.XCenter, YAlign: draw.YCenter, Handler: plot.DefaultTextHandler,
	}
	notes := []string{r.System, r.Go, "commit " + r.Commit, r.Date}
	if r.C != "" {
		notes = append(notes, "C: "+r.C)
	}
	c.FillText(footer, vg.Point{X: c.Center().X, Y: c.Min.Y + footerHeight/2}, strings.Join(notes, "; "))
}

func (p panel) draw(low, high float64, lanes int) (*plot.Plot, error) {
	drawn := plot.New()
	drawn.Title.Text = p.title
	drawn.Title.TextStyle.Font.Size = 16
	drawn.Title.Padding = -22
	drawn.X.Label.Text = "lanes"
	if len(p.marks) == 0 && lanes <= 32 {
		drawn.X.Label.Text = "active lanes"
	}
	drawn.Y.Label.Text = "lanes a second"
	for _, axis := range []*plot.Axis{&drawn.X, &drawn.Y} {
		axis.Label.TextStyle.Font.Size = 14
		axis.Tick.Label.Font.Size = 12
		axis.Scale = plot.LogScale{}
	}
	drawn.X.Min, drawn.X.Max = 1, float64(lanes)
	if lanes == 1 {
		drawn.X.Max = 2
	}
	drawn.Y.Min, drawn.Y.Max = low, high
	drawn.X.Tick.Marker = plot.TickerFunc(laneTicks)
	drawn.Y.Tick.Marker = plot.TickerFunc(rateTicks)

	grid := plotter.NewGrid()
	grid.Vertical.Color, grid.Horizontal.Color = color.Gray{215}, color.Gray{215}
	drawn.Add(grid)
	for _, m := range p.marks {
		if m.lanes > drawn.X.Max {
			continue
		}
		line, err := plotter.NewLine(plotter.XYs{{X: m.lanes, Y: low}, {X: m.lanes, Y: high}})
		if err != nil {
			return nil, err
		}
		line.Color, line.Width, line.Dashes = color.Gray{150}, 1, []vg.Length{2, 3}
		labels, err := plotter.NewLabels(plotter.XYLabels{XYs: plotter.XYs{{X: m.lanes, Y: high}}, Labels: []string{m.label}})
		if err != nil {
			return nil, err
		}
		labels.TextStyle[0].Font = font.From(plot.DefaultFont, 12)
		labels.TextStyle[0].Color = color.Gray{90}
		labels.TextStyle[0].XAlign, labels.TextStyle[0].YAlign = draw.XRight, draw.YTop
		labels.Offset = vg.Point{X: -3, Y: -3}
		drawn.Add(line, labels)
	}
	// What the library does is drawn last, over the others.
	for _, ours := range []bool{false, true} {
		for _, s := range p.series {
			if isOurs(s.Contender) != ours {
				continue
			}
			var xys plotter.XYs
			for i, n := range s.Lanes {
				xys = append(xys, plotter.XY{X: float64(n), Y: float64(n) / s.Ns[i] * 1e9})
			}
			line, points, err := newLine(s.Contender, xys)
			if err != nil {
				return nil, err
			}
			drawn.Add(line, points)
		}
	}
	return drawn, nil
}

func isOurs(contender string) bool { return strings.HasPrefix(contender, "bfi ") }

// Colours that people with any common colour blindness can tell apart (Okabe and
// Ito's). Dashes and glyphs say the same again.
var (
	black      = color.RGBA{0, 0, 0, 255}
	grey       = color.RGBA{130, 130, 130, 255}
	blue       = color.RGBA{0, 114, 178, 255}
	sky        = color.RGBA{86, 180, 233, 255}
	green      = color.RGBA{0, 158, 115, 255}
	orange     = color.RGBA{230, 159, 0, 255}
	vermillion = color.RGBA{213, 94, 0, 255}
	purple     = color.RGBA{204, 121, 167, 255}
)

// newLine is the line of a contender, and its points.
func newLine(contender string, xys plotter.XYs) (*plotter.Line, *plotter.Scatter, error) {
	line, points, err := plotter.NewLinePoints(xys)
	if err != nil {
		return nil, nil, err
	}
	line.Width = 1.8
	points.Radius = 3
	points.Shape = draw.CircleGlyph{}
	style := func(c color.Color, shape draw.GlyphDrawer, dashes ...vg.Length) {
		line.Color, line.Dashes = c, dashes
		points.Color, points.Shape = c, shape
	}
	kernelColor := sky
	switch {
	case strings.Contains(contender, "generic"):
		kernelColor = grey
	case strings.Contains(contender, "avx512"), strings.Contains(contender, "neon"):
		kernelColor = blue
	}
	switch {
	case isOurs(contender):
		switch {
		case strings.HasSuffix(contender, cachedNote):
			style(kernelColor, draw.RingGlyph{}, 7, 4)
		case strings.HasSuffix(contender, coresNote):
			style(kernelColor, draw.PlusGlyph{}, 2, 3)
		default:
			style(kernelColor, draw.CircleGlyph{})
			line.Width = 3
		}
	case strings.HasPrefix(contender, insertsName), strings.HasPrefix(contender, extractName):
		style(purple, draw.PyramidGlyph{}, 9, 3)
		if kernelColor != sky {
			style(kernelColor, draw.PyramidGlyph{}, 9, 3)
		}
	case contender == goLoopName:
		style(orange, draw.BoxGlyph{})
	case contender == cLoopName:
		style(vermillion, draw.TriangleGlyph{}, 10, 3)
	case contender == simdName:
		style(green, draw.CrossGlyph{}, 5, 2)
	case contender == copyName:
		style(grey, draw.PlusGlyph{}, 1.5, 3)
	default: // the limit
		style(black, draw.CrossGlyph{}, 3, 2)
	}
	return line, points, nil
}

// laneTicks marks powers of two, and labels every third of them over a long
// axis.
func laneTicks(low, high float64) []plot.Tick {
	every := 1
	if high/low > 1<<8 {
		every = 3
	}
	var ticks []plot.Tick
	for e := 0; math.Exp2(float64(e)) <= high; e++ {
		tick := plot.Tick{Value: math.Exp2(float64(e))}
		if e%every == 0 {
			tick.Label = size(1 << e)
		}
		ticks = append(ticks, tick)
	}
	return ticks
}

// rateTicks marks every digit, and labels 1, 2 and 5 of each decade, or over a
// long axis the decades.
func rateTicks(low, high float64) []plot.Tick {
	var ticks []plot.Tick
	for decade := 1.0; decade <= high; decade *= 10 {
		for digit := 1; digit <= 9; digit++ {
			value := decade * float64(digit)
			if value < low || value > high {
				continue
			}
			tick := plot.Tick{Value: value}
			if digit == 1 || high/low < 200 && (digit == 2 || digit == 5) {
				tick.Label = rateLabel(value)
			}
			ticks = append(ticks, tick)
		}
	}
	return ticks
}

func rateLabel(v float64) string {
	for _, unit := range []struct {
		size float64
		name string
	}{{1e12, " T"}, {1e9, " G"}, {1e6, " M"}, {1e3, " k"}} {
		if v >= unit.size {
			return fmt.Sprint(v/unit.size, unit.name)
		}
	}
	return fmt.Sprint(v)
}
