package main

import (
	"bytes"
	"fmt"
	"image/color"
	"math"
	"os"
	"path/filepath"
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

// plot writes a figure for each job to a directory, as SVG and as PNG.
func (r *result) plot(js []job, dir string) error {
	plot.DefaultFont = font.Font{Typeface: "Liberation", Variant: "Sans"}
	for i := range js {
		f, err := r.figure(&js[i])
		if err != nil {
			return err
		}
		if f == nil {
			continue // not measured
		}
		path := filepath.Join(dir, strings.ReplaceAll(strings.ToLower(js[i].name), "/", "-"))
		width, height := 6*vg.Inch*vg.Length(len(f.cells[0])), 4.5*vg.Inch*vg.Length(len(f.cells))
		svg := vgsvg.New(width, height)
		f.draw(draw.New(svg))
		var b bytes.Buffer
		if _, err := svg.WriteTo(&b); err != nil {
			return err
		}
		// If a reader lacks the font, the others have the same widths.
		fonts := bytes.ReplaceAll(b.Bytes(), []byte("family:Liberation Sans"),
			[]byte("family:Liberation Sans,Arial,Helvetica,sans-serif"))
		if err := os.WriteFile(path+".svg", fonts, 0o666); err != nil {
			return err
		}
		png := vgimg.PngCanvas{Canvas: vgimg.New(width, height)}
		f.draw(draw.New(png))
		b.Reset()
		if _, err := png.WriteTo(&b); err != nil {
			return err
		}
		if err := os.WriteFile(path+".png", b.Bytes(), 0o666); err != nil {
			return err
		}
	}
	return nil
}

// A figure has a panel for each place of a job. A panel shows lanes a second against lanes.
// The last cell is the legend. The cells lie side by side, or two by two.
type figure struct {
	title  string
	cells  [][]*plot.Plot
	legend plot.Legend
}

// figure returns the figure of a job, or nil if the job was not measured.
func (r *result) figure(j *job) (*figure, error) {
	f := &figure{title: fmt.Sprintf("%s, %s, commit %s, %s", j.name, r.CPU, r.Commit, r.Date), legend: plot.NewLegend()}
	f.legend.Left, f.legend.Top, f.legend.ThumbnailWidth, f.legend.Padding = true, true, 48, 3
	f.legend.TextStyle.Font.Size = 14
	low, high, lanes := math.Inf(1), 0.0, 2
	named := map[string]bool{}
	var panels []*plot.Plot
	var places []place
	for _, at := range []place{apart, inPlace, misaligned} {
		p := plot.New()
		p.Title.Text, p.X.Label.Text, p.Y.Label.Text = at.String(), "lanes", "billion lanes a second"
		if j.warp {
			p.X.Label.Text = "active lanes"
		}
		p.Add(plotter.NewGrid())
		measured := false
		for _, s := range r.Series {
			if s.Job != j.name || s.Place != at.String() {
				continue
			}
			measured = true
			var rates plotter.XYs
			for i, n := range s.Lanes {
				rate := float64(n) / s.Ns[i]
				low, high, lanes = min(low, rate), max(high, rate), max(lanes, n)
				rates = append(rates, plotter.XY{X: float64(n), Y: rate})
			}
			line, points, err := newLine(s.Contender, rates)
			if err != nil {
				return nil, err
			}
			p.Add(line, points)
			if !named[s.Contender] {
				f.legend.Add(s.Contender, line, points)
				named[s.Contender] = true
			}
		}
		if measured {
			panels, places = append(panels, p), append(places, at)
		}
	}
	if len(panels) == 0 {
		return nil, nil
	}
	for i, p := range panels {
		p.X.Scale, p.Y.Scale = plot.LogScale{}, plot.LogScale{}
		p.X.Min, p.X.Max, p.Y.Min, p.Y.Max = 1, float64(lanes), low/1.3, high*2.2
		p.X.Tick.Marker, p.Y.Tick.Marker = plot.TickerFunc(laneTicks), plot.LogTicks{Prec: -1}
		if !j.warp {
			if err := r.mark(p, j.laneBits(places[i])); err != nil {
				return nil, err
			}
		}
		if i%2 == 0 {
			f.cells = append(f.cells, make([]*plot.Plot, 2))
		}
		f.cells[i/2][i%2] = p
	}
	return f, nil
}

// mark marks the lengths at which the operands fill a cache. They have laneBits bits for each
// lane.
func (r *result) mark(p *plot.Plot, laneBits int) error {
	for i, size := range []int{r.Caches.L1D, r.Caches.L2, r.Caches.L3} {
		lanes := float64(8*size) / float64(laneBits)
		if lanes < p.X.Min || lanes > p.X.Max {
			continue
		}
		line, err := plotter.NewLine(plotter.XYs{{X: lanes, Y: p.Y.Min}, {X: lanes, Y: p.Y.Max}})
		if err != nil {
			return err
		}
		labels, err := plotter.NewLabels(plotter.XYLabels{XYs: plotter.XYs{{X: lanes, Y: p.Y.Max}},
			Labels: []string{fmt.Sprint("L", i+1)}})
		if err != nil {
			return err
		}
		line.Color, line.Dashes = color.Gray{150}, []vg.Length{2, 3}
		labels.TextStyle[0].Font, labels.Offset = font.From(plot.DefaultFont, 11), vg.Point{X: -3, Y: -3}
		labels.TextStyle[0].XAlign, labels.TextStyle[0].YAlign = draw.XRight, draw.YTop
		p.Add(line, labels)
	}
	return nil
}

func (f *figure) draw(c draw.Canvas) {
	c.SetColor(color.White)
	c.Fill(c.Rectangle.Path())
	c.FillText(text.Style{
		Color: color.Black, Font: font.From(plot.DefaultFont, 14),
		XAlign: draw.XCenter, YAlign: draw.YTop, Handler: plot.DefaultTextHandler,
	}, vg.Point{X: c.Center().X, Y: c.Max.Y - 8}, f.title)
	tiles := draw.Tiles{Rows: len(f.cells), Cols: len(f.cells[0]), PadX: 18, PadY: 18}
	canvases := plot.Align(f.cells, tiles, draw.Crop(c, 10, -15, 10, -32))
	last := canvases[len(canvases)-1]
	f.legend.Draw(draw.Crop(last[len(last)-1], 60, 0, 0, -20))
	for i, row := range f.cells {
		for k, p := range row {
			if p != nil {
				p.Draw(canvases[i][k])
			}
		}
	}
}

// newLine returns the line and the points of a contender. The colors are the palette of Okabe
// and Ito, because people with common color blindness can tell them apart. Dashes and glyphs
// differ too.
func newLine(contender string, xys plotter.XYs) (*plotter.Line, *plotter.Scatter, error) {
	line, points, err := plotter.NewLinePoints(xys)
	if err != nil {
		return nil, nil, err
	}
	style := func(r, g, b uint8, shape draw.GlyphDrawer, dashes ...vg.Length) {
		line.Color, line.Width, line.Dashes = color.RGBA{r, g, b, 255}, 1.8, dashes
		points.Color, points.Radius, points.Shape = line.Color, 3, shape
	}
	switch {
	case contender == goLoop:
		style(230, 159, 0, draw.BoxGlyph{})
	case contender == cLoop:
		style(213, 94, 0, draw.TriangleGlyph{}, 10, 3)
	case contender == archsimdLoop, contender == libyuv:
		style(0, 158, 115, draw.CrossGlyph{}, 5, 2)
	case contender == limit:
		style(0, 0, 0, draw.CrossGlyph{}, 3, 2)
	case strings.HasSuffix(contender, "generic"):
		style(130, 130, 130, draw.CircleGlyph{})
	case strings.Contains(contender, "avx2"):
		style(86, 180, 233, draw.CircleGlyph{})
	default:
		style(0, 114, 178, draw.CircleGlyph{})
	}
	switch {
	case strings.HasSuffix(contender, cachedStores):
		line.Dashes, points.Shape = []vg.Length{7, 4}, draw.RingGlyph{}
	case strings.HasPrefix(contender, library):
		line.Width = 3
	case strings.Contains(contender, " avx"), strings.HasSuffix(contender, "generic"): // the calls that one call replaces
		line.Dashes, points.Shape = []vg.Length{9, 3}, draw.PyramidGlyph{}
	}
	return line, points, nil
}

// laneTicks marks powers of two. On a long axis it labels every third of them.
func laneTicks(_, high float64) []plot.Tick {
	every := 1
	if high > 1<<8 {
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
