#!/bin/sh
# Stands before programs of the host that cannot do in a session what they are for (plan.cc): calls the program of its own
# name, and says after a failure how things are here. state.sh takes from it what to say of those that are not there.

__hutch_explain() {
  case $1 in
    sudo | su) command echo "hutch: nobody is root in a session, and nothing has to be: call the command itself. /workspace, /home/user and /tmp are yours; the system can only be read." ;;
    docker | podman | docker-compose | podman-compose) command echo "hutch: a session starts no containers; start the program itself, a server with background: true, and share_port shows it." ;;
    systemctl | service) command echo "hutch: no services are managed here; start the program itself, with background: true." ;;
    crontab | at) command echo "hutch: nothing is started at a set time here; a background run with a loop and sleep does it for as long as the session lives." ;;
    ping | traceroute) command echo "hutch: a session has no network but through hutch's door, for what the network policy allows; curl -I shows whether a host answers." ;;
    conda | mamba | micromamba) command echo "hutch: there is no conda in a session; install_packages (or pip install) has most of its packages, where the network policy allows." ;;
    apt | apt-get | aptitude | dnf | yum | apk | pacman | zypper | snap | brew)
      command echo "hutch: the system can only be read, so $1 installs nothing; many programs are packages of pip or npm too (install_packages), and whoever runs hutch can make an environment with more: hutch environments build NAME --apt PACKAGE" ;;
    ffmpeg | ffprobe) __hutch_lacks ffmpeg ffmpeg "pip's imageio-ffmpeg brings one (imageio_ffmpeg.get_ffmpeg_exe()), and matplotlib saves animations as .gif" ;;
    soffice | libreoffice | unoconv) __hutch_lacks LibreOffice libreoffice "Python's docx, openpyxl and pptx read and write its files, reportlab writes PDF" ;;
    latex | pdflatex | xelatex | lualatex | tex | dvipng) __hutch_lacks LaTeX texlive "matplotlib draws formulas by itself with text.usetex off, reportlab writes PDF" ;;
    dot | neato) __hutch_lacks Graphviz graphviz "networkx with matplotlib draws graphs, npm's @hpcc-js/wasm-graphviz reads .dot" ;;
    pandoc) __hutch_lacks pandoc pandoc "pip's pypandoc-binary brings one" ;;
    tesseract) __hutch_lacks Tesseract tesseract-ocr "npm's tesseract.js reads texts of pictures" ;;
    pdftotext | pdftoppm) __hutch_lacks Poppler poppler-utils "Python's pdfplumber reads texts and tables, pip's pymupdf draws pages" ;;
    chromedriver | geckodriver | google-chrome | chrome) __hutch_lacks "driver of a browser" chromium-driver "playwright's p.chromium.launch() finds the browser of an environment that has one" ;;
    *) return 1 ;;
  esac
}

# What is called so, the package of apt that has it, and what else does it.
__hutch_lacks() {
  command echo "hutch: there is no $1 here: $3; whoever runs hutch can make an environment that has it: hutch environments build NAME --apt $2"
}

case $0 in
  /run/hutch/explained/*)
    name=${0##*/}
    for folder in /usr/local/bin /usr/bin /usr/sbin; do
      [ ! -x "$folder/$name" ] || break
    done
    "$folder/$name" "$@"
    status=$?
    case $status in
      0 | 130 | 141) ;; # it did, or somebody did not want all of it
      *) __hutch_explain "$name" >&2 ;;
    esac
    exit "$status"
    ;;
esac
